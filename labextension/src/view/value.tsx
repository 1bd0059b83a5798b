/**
 * A value as Python writes it: from left to right, with words of other directions in it each by themselves.
 *
 * Else a number behind such a word would be read as a part of it, and stand at its other side.
 */

const LETTER = '[\\p{Script=Hebrew}\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Thaana}\\p{Script=Nko}]';

/** Words that are written from right to left, with the blanks between them. */
const LEFTWARDS = new RegExp(`(${LETTER}+(?:\\s+${LETTER}+)*)`, 'u');

export function Value({ text, class: styled }: { text: string; class?: string }) {
  return (
    <bdi class={styled} dir="ltr">
      {text.split(LEFTWARDS).map((part, at) => (at % 2 === 0 ? part : <bdi key={at}>{part}</bdi>))}
    </bdi>
  );
}
