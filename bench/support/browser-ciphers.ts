/**
 * What our clients offer, first what browsers have first. OpenSSL and Node have TLS_AES_256_GCM_SHA384 there, and whoever lets the client choose (nginx,
 * Bun) would pay for dozens of SHA-384 in each handshake where ours and Caddy take SHA-256.
 */
export const BROWSER_CIPHERS =
  'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256'
export const BROWSERS_FIRST = 'TLS_AES_128_GCM_SHA256'
