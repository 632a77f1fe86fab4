/** The words of `holdfast check`: they become the same block a Caddyfile would hold. */
import { splitHostPort, unixPath } from '../../shared/net/address.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { CheckSpec } from '../../control-plane/compile/compiled.ts';
import { compileProbe } from '../../control-plane/compile/checks/probe.ts';
import { Compilation } from '../../control-plane/compile/compilation.ts';
import { Origins } from '../../control-plane/caddyfile/context.ts';
import { parseHealthBlock } from '../../control-plane/caddyfile/health/block.ts';
import { collectPositions } from '../../control-plane/caddyfile/positions.ts';
import { PROBE_OPTIONS } from '../../control-plane/caddyfile/health/options.ts';
import type { Statement } from '../../control-plane/caddyfile/syntax/statement.ts';
import type { Token } from '../../control-plane/caddyfile/syntax/token.ts';
import { probeCheckSchema } from '../../control-plane/config/schema/health/probes.ts';
import { hasProgram } from '../../control-plane/health/echo.ts';
import { CliError } from '../failure.ts';

/** Ports that the protocols call their own. */
const PORTS: Readonly<Record<string, number>> = Object.freeze({
  http: 80,
  dns: 53,
  smtp: 25,
  ssh: 22,
  redis: 6379,
  mqtt: 1883,
  quic: 443,
});

/** What a message of the config readers is about: not a file here. */
const PLACE = /, at command line:1$/;

export interface ReadCheck {
  readonly spec: CheckSpec;
  /** A name or an IP address. */
  readonly host: string;
  readonly port: number;
}

/** `words`: `--name value…`, as often as needed. Throws a `CliError` for what cannot be. */
export function readCheck(probe: string, address: string, words: readonly string[], env: NodeJS.ProcessEnv): ReadCheck {
  const { host, port } = readAddress(probe, address);
  try {
    const origins = new Origins();
    const json = parseHealthBlock(statement(['health', probe], optionsOf(words)), origins);
    const config = probeCheckSchema.safeParse(json);
    if (!config.success) {
      const [issue] = config.error.issues;
      throw new CliError(`--${optionAt(issue?.path ?? [])}: ${issue?.message ?? 'it is wrong'}`, 2);
    }
    const run = new Compilation(
      {
        positions: collectPositions(json, origins),
        generatedSecret: () => '',
        platform: process.platform,
        hasProgram: (name) => hasProgram(name, env['PATH'] ?? process.env['PATH']),
      },
      [],
    );
    const member = { upstream: address, identity: address, host, port };
    const spec = compileProbe(run, '', config.data, [member], { proxyProtocol: null, localAddress: null, tls: null });
    return { spec, host, port };
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(error.message.replace(PLACE, ''), 2, { cause: error });
    throw error;
  }
}

function readAddress(probe: string, text: string): { host: string; port: number } {
  if (unixPath(text) !== null) return { host: text, port: 0 };
  // As events and /upstreams write an address.
  const parts = splitHostPort(text.replace(/^(?:udp|tcp)\//i, ''));
  const port = parts?.port ?? PORTS[probe] ?? 0;
  if (parts === null || parts.host === '' || parts.host.includes('/') || port === 0) {
    // A wrong probe is the better thing to complain of.
    if (!Object.hasOwn(PROBE_OPTIONS, probe)) return { host: text, port: 1 };
    throw new CliError(`'${text}' is not an address: write host:port, such as 10.0.0.1:8080`, 2);
  }
  return { host: parts.host, port };
}

/** Steps of a script are options of their own here. */
function optionAt(path: readonly PropertyKey[]): string {
  return path[0] === 'script' ? String(path.at(-1)) : path.join('.');
}

/** `--send PING --alive` → the lines `send PING` and `alive`. */
function optionsOf(words: readonly string[]): Statement[] {
  const lines: string[][] = [];
  for (const word of words) {
    const [, name, value] = /^--([a-z][a-z_-]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (name !== undefined) lines.push([name.replaceAll('-', '_'), ...(value === undefined ? [] : [value])]);
    else if (lines.length === 0) throw new CliError(`'${word}' stands alone: options begin with --`, 2);
    else lines.at(-1)?.push(word);
  }
  return lines.map((line) => statement(line, null));
}

function statement([name = '', ...args]: readonly string[], block: readonly Statement[] | null): Statement {
  return { name: token(name), args: args.map(token), block };
}

function token(text: string): Token {
  return { text, raw: text, quote: '', file: 'command line', line: 1, startsLine: false, importChain: [] };
}
