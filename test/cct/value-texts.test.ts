import { expect, it } from 'vitest'
import { printable } from '../../src/cct/value-texts.ts'

it('control characters, direction changes and lone surrogates of a value become question marks', () => {
  expect(printable('a\nb\x1b[2Jc\u202e\ud800')).toBe('a?b?[2Jc??')
  expect(printable('</script>; \u{1f600} ü')).toBe('</script>; \u{1f600} ü')
})
