import { domainToASCII, domainToUnicode } from 'node:url'
import { expect, test } from 'vitest'
import { inBothForms, unicodeOf, withAsciiDomain } from './unicode-name.ts'

test.each([
  ['xn--bcher-kva.example', 'bücher.example'],
  ['shop.xn--fiqs8s', 'shop.中国'],
  ['*.xn--caf-dma.xn--bcher-kva.example', '*.café.bücher.example'],
  ['xn--4dbrk0ce.xn--4dbrk0ce', 'ישראל.ישראל'],
  ['xn--pple-43d.com', 'аpple.com'], // with a Cyrillic а: this is why it never stands alone
  ['xn--fa-hia.de', 'faß.de'],
])('%s is how the DNS writes %s', (ascii, unicode) => {
  expect(unicodeOf(ascii)).toBe(unicode)
  expect(inBothForms(ascii)).toBe(`${ascii} (${unicode})`)
})

test.each([
  'shop.customer.com',
  'xn--a.com',
  'xn--zzzzzz.com',
  'xn--.com',
  'xn--99999999999999999999999999999999.com',
  'xn--a-ecp.com',
  'a.xn--b-',
])('%s is shown as it is', (name) => {
  expect(unicodeOf(name)).toBeUndefined()
  expect(inBothForms(name)).toBe(name)
})

test.each([
  ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
  ['ада@bücher.example', 'ада@xn--bcher-kva.example'],
  ['ada@xn--bcher-kva.example', 'ada@xn--bcher-kva.example'],
  ['ada@vendor.com', 'ada@vendor.com'],
])('the address %s is compared as %s', (typed, address) => {
  expect(withAsciiDomain(typed)).toBe(address)
})

test('names of all scripts are read as Node reads them', () => {
  const letters = ['aé', 'αβγδ', 'жшщъ', 'אבגד', 'ابتث', 'कखगघ', 'กขคง', 'かきくカキク', '漢字仮名', '한글조합', '𐐨𐐩𐐪', 'aäcö日本b']
  const names = letters.flatMap((script) => {
    const points = Array.from(script)
    return Array.from({ length: 40 }, (_, n) =>
      Array.from({ length: 1 + (n % 17) }, (_, at) => points[(n * 7 + at * at) % points.length]).join(''),
    )
  })
  const coded = names.map((name) => domainToASCII(`${name}.example`)).filter((name) => name.startsWith('xn--'))
  expect(coded.length).toBeGreaterThan(300)
  expect(coded.map(unicodeOf)).toEqual(coded.map((name) => domainToUnicode(name)))
})
