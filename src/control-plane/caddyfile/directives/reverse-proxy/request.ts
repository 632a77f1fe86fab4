import { expandRanges } from '../../matchers/ranges.ts';
import { one, some } from '../../syntax/read.ts';
import { put, type SubdirectiveTable } from './draft.ts';

export const REQUEST_SUBDIRECTIVES: SubdirectiveTable = {
  trusted_proxies: (line, draft) => {
    const known = draft.fields['trusted_proxies'];
    const more = expandRanges(some(line, 1));
    put(draft, draft.fields, 'trusted_proxies', [...(Array.isArray(known) ? known : []), ...more], line);
  },
  method: (line, draft) => put(draft, draft.rewrite, 'method', one(line).text, line),
  rewrite: (line, draft) => put(draft, draft.rewrite, 'uri', one(line).text, line),
};
