/** One entry of `proxy_tlvs`: `{"type": "crc32c"}`, or `{"type": 225, "value": "…"}`. */
import type { z } from 'zod';
import { payload } from '../health/payload.ts';
import { accept, object, orNull } from '../primitives.ts';

/** Words for what is worked out for each connection. */
export const PROXY_TLV_WORDS = ['crc32c', 'authority', 'unique_id', 'ssl'] as const;

type ProxyTlvWord = (typeof PROXY_TLV_WORDS)[number];

export interface ProxyTlvConfig {
  readonly type: ProxyTlvWord | number;
  /** latin1; null for words. */
  readonly value: string | null;
}

/** Its checksum would be one of another header. */
const TYPE_CRC32C = 3;

const type = accept(`${PROXY_TLV_WORDS.join(', ')} or a number from 1 to 255, but not ${TYPE_CRC32C}`, (found) => {
  const word = PROXY_TLV_WORDS.find((known) => known === found);
  if (word !== undefined) return word;
  const isType = typeof found === 'number' && Number.isInteger(found) && found >= 1 && found <= 255;
  return isType && found !== TYPE_CRC32C ? found : undefined;
});

export const proxyTlvSchema: z.ZodType<ProxyTlvConfig> = object({ type, value: orNull(payload()) }).superRefine(
  (tlv, context) => {
    if (typeof tlv.type === 'number' && tlv.value === null) {
      context.addIssue({ code: 'custom', message: `the TLV of type ${tlv.type} has no value: add one`, path: [] });
    }
    if (typeof tlv.type === 'string' && tlv.value !== null) {
      const message = `${tlv.type} takes no value: it is worked out for each connection`;
      context.addIssue({ code: 'custom', message, path: ['value'] });
    }
  },
);
