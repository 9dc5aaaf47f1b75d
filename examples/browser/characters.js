// The character-id scheme of ELMo, as keras_elmo/characters.py defines it.

const BEGIN_WORD = 259;
const END_WORD = 260;
const WORD_PADDING = 261;

// The characters that Python's str.split() takes for whitespace. JavaScript's \s differs.
const WHITESPACE = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** The words of a sentence, which is split at whitespace, and the marks that end a word. */
export function splitWords(sentence) {
  const words = sentence.split(WHITESPACE).flatMap((word) => {
    const body = word.replace(/[.,!?;:]+$/, "");
    return [body, ...(word.slice(body.length).match(/\.{2,}|./g) ?? [])];
  });
  return words.filter((word) => word !== "");
}

/**
 * The character ids of a sentence: an Int32Array of maxTokens rows of maxCharacters ids.
 *
 * The row of a word is begin-word, its UTF-8 bytes (each byte plus 1), end-word, and word padding.
 * Longer words are cut. Rows of zeros follow the last word.
 */
export function characterIds(words, maxTokens, maxCharacters) {
  if (words.length > maxTokens) {
    throw new RangeError(
      `A sentence can have ${maxTokens} tokens at most. This one has ${words.length}.`,
    );
  }
  const ids = new Int32Array(maxTokens * maxCharacters);
  words.forEach((word, index) => {
    const bytes = new TextEncoder().encode(word).subarray(0, maxCharacters - 2);
    const row = ids.subarray(index * maxCharacters, (index + 1) * maxCharacters);
    row.fill(WORD_PADDING);
    row[0] = BEGIN_WORD;
    bytes.forEach((byte, position) => (row[1 + position] = byte + 1));
    row[1 + bytes.length] = END_WORD;
  });
  return ids;
}
