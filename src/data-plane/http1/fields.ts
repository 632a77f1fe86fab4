import { CLASS, COLON, CR, HTAB, LF, SP, TOKEN, VALUE } from './chars.ts';
import {
  ERROR_FIELD_NAME,
  ERROR_FIELD_VALUE,
  ERROR_LINE_END,
  ERROR_OBS_FOLD,
  ERROR_TOO_MANY_FIELDS,
} from './errors.ts';
import { fieldKind } from './field-kinds.ts';
import { FIELD_OTHER, type Head } from './head.ts';

/**
 * HOT. Reads the field lines of `text` from `from` to the final empty line, which must be the end of `text`, into
 * `head` (RFC 9112 section 5). Returns 0 or an ERROR_* code. One loop, 50 lines, on purpose: split into a function per
 * line it would have to hand positions back through memory.
 */
export function parseFields(text: string, from: number, head: Head, maxFields: number): number {
  const { offsets, kinds, first } = head;
  first.fill(-1);
  head.repeated = 0;
  head.fieldsStart = from;
  let count = 0;
  let at = from;
  for (;;) {
    const nameStart = at;
    let code = text.charCodeAt(at);
    while ((CLASS[code]! & TOKEN) !== 0) code = text.charCodeAt((at += 1));
    const nameEnd = at;
    if (code !== COLON || nameEnd === nameStart) break;
    if (count === maxFields) return ERROR_TOO_MANY_FIELDS;

    code = text.charCodeAt((at += 1));
    while (code === SP || code === HTAB) code = text.charCodeAt((at += 1));
    const valueStart = at;
    while ((CLASS[code]! & VALUE) !== 0) code = text.charCodeAt((at += 1));
    if (code !== CR) return code === LF ? ERROR_LINE_END : ERROR_FIELD_VALUE;
    if (text.charCodeAt(at + 1) !== LF) return ERROR_LINE_END;
    let valueEnd = at;
    if (valueEnd > valueStart) {
      code = text.charCodeAt(valueEnd - 1);
      while (code === SP || code === HTAB) code = text.charCodeAt((valueEnd -= 1) - 1);
    }
    at += 2;

    const kind = fieldKind(text, nameStart, nameEnd);
    const slot = count * 4;
    offsets[slot] = nameStart;
    offsets[slot + 1] = nameEnd;
    offsets[slot + 2] = valueStart;
    offsets[slot + 3] = valueEnd;
    kinds[count] = kind;
    if (kind !== FIELD_OTHER) {
      if (first[kind]! < 0) first[kind] = count;
      else head.repeated |= 1 << kind;
    }
    count += 1;
  }
  head.count = count;
  if (at + 2 === text.length && text.charCodeAt(at) === CR && text.charCodeAt(at + 1) === LF) return 0;
  return faultOfLine(text, at, count);
}

/** Why the line whose name ends at `at` is none. White space at its start is folding only behind another line. */
function faultOfLine(text: string, at: number, linesBefore: number): number {
  const code = text.charCodeAt(at);
  const atLineStart = text.charCodeAt(at - 1) === LF;
  if (atLineStart && linesBefore > 0 && (code === SP || code === HTAB)) return ERROR_OBS_FOLD;
  return code === CR || code === LF ? ERROR_LINE_END : ERROR_FIELD_NAME;
}
