/** `<namesake-connect>`, which the import defines. */
export interface NamesakeConnectElement extends HTMLElement {
  /** Sentences that take the place of the English ones, as in the attribute; the README says what the keys are. */
  strings: Partial<Record<string, string>>
}

export type ConnectStatus =
  | 'waiting-for-dns'
  | 'wrong-record'
  | 'verified'
  | 'certificate-pending'
  | 'certificate-failed'
  | 'live'
  | 'ended'
  | 'incomplete'
  | 'unreachable'
  | 'busy'

declare global {
  interface HTMLElementTagNameMap {
    'namesake-connect': NamesakeConnectElement
  }
  interface HTMLElementEventMap {
    'namesake-status': CustomEvent<{ hostname: string | undefined; status: ConnectStatus }>
    'namesake-connected': CustomEvent<{ hostname: string }>
  }
}
