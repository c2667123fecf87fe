import { ServiceError } from '../errors.ts'

/** How a project's pages for its customers look. */
export type Brand = { color: string | null; logoUrl: string | null }

const LOGO_URL_LENGTH_MAX = 2_048

/** What is given of a brand, checked; null takes a value away. Throws `brand_invalid`. */
export function parseBrand(given: { [part in keyof Brand]?: string | null | undefined }): Partial<Brand> {
  return {
    ...(given.color !== undefined && { color: given.color === null ? null : parseColor(given.color) }),
    ...(given.logoUrl !== undefined && { logoUrl: given.logoUrl === null ? null : parseLogoUrl(given.logoUrl) }),
  }
}

function parseColor(text: string): string {
  if (/^#[0-9a-f]{6}$/i.test(text)) return text.toLowerCase()
  throw new ServiceError('brand_invalid', 'a color is # and six hexadecimal digits, such as #1a56c4')
}

function parseLogoUrl(text: string): string {
  const isText = text.length <= LOGO_URL_LENGTH_MAX && text.isWellFormed() && !/[\s\p{Cc}\\<>"']/u.test(text)
  const url = isText ? URL.parse(text) : null
  if (url?.protocol === 'https:' && !url.username && !url.password) return text
  throw new ServiceError('brand_invalid', 'a logo is the https URL of an image, such as https://vendor.com/logo.svg')
}
