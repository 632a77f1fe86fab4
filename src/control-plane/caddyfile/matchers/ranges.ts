import type { JsonValue } from '../json.ts';
import { PRIVATE_RANGES } from '../../../shared/net/cidr.ts';
import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import type { MatcherModule } from './module.ts';

/** CIDR ranges and addresses, with `private_ranges` spelled out. */
export function expandRanges(tokens: readonly Token[]): string[] {
  return tokens.flatMap((token) => {
    if (token.text === 'forwarded') {
      throw failure(token, "the 'forwarded' option is no longer supported: use the client_ip matcher instead");
    }
    return token.text === 'private_ranges' ? PRIVATE_RANGES : [token.text];
  });
}

function rangesOf(lines: readonly Statement[]): JsonValue {
  return { ranges: lines.flatMap((line) => expandRanges(some(line, 1))) };
}

export const remoteIp: MatcherModule = { name: 'remote_ip', parse: rangesOf };
export const clientIp: MatcherModule = { name: 'client_ip', parse: rangesOf };
