import { type Html, html } from '../lib/html.ts'

/** What a mail says, once; it goes out as text and as HTML. `button` is the one thing to do. */
export type Letter = {
  subject: string
  heading: string
  paragraphs: string[]
  records?: { name: string; type: string; value: string }[]
  button?: { label: string; url: string }
  closing: string[]
}

export function asText({ heading, paragraphs, records, button, closing }: Letter): string {
  const listed = records?.map(({ name, type, value }) => `  Name:  ${name}\n  Type:  ${type}\n  Value: ${value}`) ?? []
  return `${[heading, ...paragraphs, ...listed, ...(button ? [`${button.label}:\n${button.url}`] : []), ...closing].join('\n\n')}\n`
}

/** Tables and inline styles, for Outlook; no image, nothing from elsewhere; dark where the reader's program is. */
export function asHtml({ heading, paragraphs, records, button, closing }: Letter): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${heading}</title>
<style>@media (prefers-color-scheme: dark) { .page { background: #14181f !important } .card { background: #1c222b !important } .text { color: #e4e8ef !important } .quiet { color: #9aa5b5 !important } .cell { border-color: #2f3743 !important } }</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f5f7fa">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f5f7fa"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="560" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:560px;background:#ffffff"><tr><td style="padding:32px;font-family:Arial,Helvetica,sans-serif">
<h1 class="text" style="margin:0 0 16px;font-size:22px;line-height:1.3;color:#1c2330">${heading}</h1>
${paragraphs.map((text) => html`<p class="text" style="margin:0 0 16px;font-size:16px;line-height:1.5;color:#1c2330">${lines(text)}</p>`)}
${records && recordTable(records)}
${button && buttonTable(button)}
${closing.map((text) => html`<p class="quiet" style="margin:16px 0 0;font-size:14px;line-height:1.5;color:#5b6575">${lines(text)}</p>`)}
</td></tr></table>
</td></tr></table>
</body>
</html>
`.text
}

function buttonTable({ label, url }: { label: string; url: string }): Html {
  return html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 16px"><tr><td bgcolor="#1a56c4" style="background:#1a56c4;padding:12px 24px"><a href="${url}" style="font-size:16px;font-weight:bold;color:#ffffff;text-decoration:none">${label}</a></td></tr></table>
<p class="quiet" style="margin:0;font-size:14px;line-height:1.5;color:#5b6575;word-break:break-all">${url}</p>`
}

function recordTable(records: NonNullable<Letter['records']>): Html {
  const cell = 'padding:8px;border:1px solid #dfe3ea;font-size:14px;line-height:1.4;color:#1c2330;text-align:left;word-break:break-all'
  return html`<table class="text" width="100%" cellpadding="0" cellspacing="0" border="0" style="border-collapse:collapse;margin:0 0 16px"><tr>${['Name', 'Type', 'Value'].map((head) => html`<th class="text cell" style="${cell}">${head}</th>`)}</tr>${records.map(
    ({ name, type, value }) =>
      html`<tr>${[name, type, value].map((text) => html`<td class="text cell" style="${cell}">${text}</td>`)}</tr>`,
  )}</table>`
}

function lines(text: string): Html[] {
  return text.split('\n').map((line, i) => (i === 0 ? html`${line}` : html`<br>${line}`))
}
