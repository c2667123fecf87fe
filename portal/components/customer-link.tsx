import { useMutation } from '@tanstack/react-query'
import { API_URL, api } from '../api.ts'
import { onDate, text } from '../strings.ts'
import { Button } from './button.tsx'
import { CodeBlock } from './code-block.tsx'
import { Dialog, DialogButtons } from './dialog.tsx'
import { Notice } from './notice.tsx'

const words = text.domain

/** Makes the link to the page on which the vendor's customer connects this hostname. */
export function CustomerLink({ slug, hostname, onClose }: { slug: string; hostname: string; onClose(): void }) {
  const make = useMutation({ mutationFn: () => api.createLink(slug, hostname) })
  return (
    <Dialog title={words.linkTitle} description={words.linkText} onClose={onClose}>
      {make.error && <Notice kind="bad">{make.error.message}</Notice>}
      {make.data && (
        <div className="grid gap-3">
          <CodeBlock label={words.link} code={make.data.url} />
          <p className="text-sm text-stone-600 dark:text-stone-400">{words.linkUntil(onDate(make.data.expiresAt))}</p>
          <CodeBlock label={words.linkElement} code={elementCode(make.data.url)} />
        </div>
      )}
      <DialogButtons>
        <Button onClick={onClose}>{text.common.close}</Button>
        {!make.data && (
          <Button look="primary" busy={make.isPending} onClick={() => make.mutate()}>
            {words.linkMake}
          </Button>
        )}
      </DialogButtons>
    </Dialog>
  )
}

/** The element that shows the same on a page of the vendor. */
function elementCode(url: string): string {
  const script = `<script type="module" src="${API_URL}/connect-element.js"></script>`
  return `${script}\n<namesake-connect token="${new URL(url).hash.slice(1)}"></namesake-connect>`
}
