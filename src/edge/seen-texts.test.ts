import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digitsIn, SeenTexts } from './seen-texts.ts'

test('a text is what its bytes say, whatever came before', () => {
  const seen = new SeenTexts()
  const word = fc.oneof(
    fc.constantFrom('', 'close', 'keep-alive', 'timeout=5', 'x'.repeat(40)),
    fc.string({ unit: fc.constantFrom('a', '\u00e9', '\0'), maxLength: 34 }),
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 20 }), (words) => {
      for (const text of words) {
        const bytes = Buffer.from(`<${text}>`, 'latin1')
        expect(seen.textIn(bytes, 1, bytes.length - 1)).toBe(text)
      }
    }),
    { numRuns: 2_000 },
  )
})

test.each(['', '0', '7', '007', '700', '999999999', '1000000000', '99999999999999999999', '-1', '1x', '+5', ' 5'])(
  'digits stay what they are: %j',
  (text) => {
    const bytes = Buffer.from(`<${text}>`)
    expect(digitsIn(bytes, 1, bytes.length - 1)).toBe(text)
  },
)
