/**
 * Why the certificate in hand is renewed when it is: by the authority's wish (`ari`, RFC 9773), at about two thirds of its `lifetime`, after the
 * end of what was `imported`; or not any more (`stopped`). `dnsLeftAt`: since when attempts to renew find DNS leading elsewhere. Times in ISO 8601.
 */
export type RenewalPlan = {
  plan: (typeof RENEWAL_PLANS)[number]
  sentence: string
  explanationUrl: string | null
  ariCheckedAt: string | null
  dnsLeftAt: string | null
  stoppedAt: string | null
}

export const RENEWAL_PLANS = ['ari', 'lifetime', 'imported', 'stopped'] as const

export type RenewalColumns = {
  origin: 'ordered' | 'imported' | null
  notAfter: Date | null
  wished: boolean | null
  hasEnded: boolean | null
  endsSoon: boolean | null
  explanationUrl: string | null
  ariCheckedAt: Date | null
  dnsLeftAt: Date | null
  stoppedAt: Date | null
}

/** Null while there is no certificate to renew. */
export function renewalPlanOf(row: RenewalColumns): RenewalPlan | null {
  if (row.notAfter === null) return null
  const plan = kindOf(row)
  return {
    plan,
    sentence: sentenceOf(plan, { ...row, notAfter: row.notAfter }),
    explanationUrl: row.explanationUrl,
    ariCheckedAt: iso(row.ariCheckedAt),
    dnsLeftAt: iso(row.dnsLeftAt),
    stoppedAt: iso(row.stoppedAt),
  }
}

function kindOf({ origin, wished, hasEnded, stoppedAt }: RenewalColumns): RenewalPlan['plan'] {
  if (stoppedAt) return 'stopped'
  if (origin === 'imported' && !hasEnded) return 'imported'
  return wished ? 'ari' : 'lifetime'
}

function sentenceOf(plan: RenewalPlan['plan'], row: RenewalColumns & { notAfter: Date }): string {
  const { endsSoon, hasEnded, dnsLeftAt, stoppedAt, ariCheckedAt } = row
  const end = iso(row.notAfter)
  if (plan === 'stopped')
    return `It ended on ${end} and its DNS has led elsewhere since ${iso(dnsLeftAt)}, so renewal stopped on ${iso(stoppedAt)}. A check that finds the DNS right orders a certificate at once, and so does a visit or a request for a renewal.`
  if (plan === 'imported')
    return `${endsSoon ? 'It ends soon. ' : ''}It was imported, so no order replaces it before its end on ${end}: bring the next one before then, or one is ordered then if the DNS leads here.`
  if (dnsLeftAt)
    return `Its DNS has led elsewhere since ${iso(dnsLeftAt)}, so it cannot be renewed. It ${hasEnded ? 'ended' : 'ends'} on ${end}; renewal is tried until 30 days after that: correct the DNS, or remove the hostname.`
  if (plan === 'ari') return `The authority wishes it to be renewed then, as it said on ${iso(ariCheckedAt)}.`
  return 'It is renewed at about two thirds of its lifetime; the authority has stated no other wish.'
}

function iso(time: Date | null): string | null {
  return time?.toISOString() ?? null
}
