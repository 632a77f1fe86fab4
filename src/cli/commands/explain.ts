import type { Command } from 'commander';
import type { ExplainContext } from '../../control-plane/explain/explain.ts';
import type { Explanation, FlowExplanation } from '../../control-plane/explain/explanation.ts';
import type { FlowQuestion } from '../../control-plane/explain/flow-question.ts';
import type { Question } from '../../control-plane/explain/question.ts';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';
import { addConfigOptions, collect } from '../shared-options.ts';

interface ExplainOptions extends ConfigOptions {
  readonly peer: string;
  readonly header: readonly string[];
  readonly method?: string;
  readonly sni?: string;
  readonly alpn?: string;
  readonly firstBytes?: string;
  readonly down: readonly string[];
  readonly json?: boolean;
}

const FLAGS = { sni: 'sni', alpn: 'alpn', firstBytes: 'first-bytes' } as const;

/** `explain [--config F] --peer IP URL`: where a request or connection would go and why, without sending it. */
export function addExplainCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('explain'))
    .description('show where a request, connection or datagram would go, and why')
    .argument('<url>', 'URL of the request, such as http://shop.example.com/cart, or tcp/:3306, udp/:53')
    .requiredOption('--peer <ip>', 'address the connection comes from; for layer 4 ip:port, too')
    .option('--header <line>', "header line of the request, 'Name: value'; may be repeated", collect, [])
    .option('--method <method>', 'method of the request (default: GET)')
    .option('--sni <name>', 'layer 4: server name in the ClientHello')
    .option('--alpn <names>', 'layer 4: ALPN names in the ClientHello, separated by commas')
    .option('--first-bytes <hex>', 'layer 4: first bytes of the connection, or the datagram')
    .option('--down <address>', 'an upstream that is down; may be repeated', collect, [])
    .option('--json', 'print JSON')
    .action(async (url: string, options: ExplainOptions) => {
      const context = await contextOf(options, terminal);
      if (/^(tcp|udp)\//i.test(url)) await explainFlowTo(terminal, flowQuestion(url, options), context, options);
      else await explainTo(terminal, requestQuestion(url, options), context, options);
    });
}

async function explainTo(
  terminal: Terminal,
  question: Question,
  context: ExplainContext,
  options: ExplainOptions,
): Promise<void> {
  const { explain } = await import('../../control-plane/explain/explain.ts');
  const explanation = await withDown(explain(question, context));
  const { explainText } = await import('../explain-text.ts');
  terminal.stdout.write(options.json === true ? `${JSON.stringify(explanation)}\n` : explainText(explanation));
}

async function explainFlowTo(
  terminal: Terminal,
  question: FlowQuestion,
  context: ExplainContext,
  options: ExplainOptions,
): Promise<void> {
  const { explainFlow } = await import('../../control-plane/explain/explain-flow.ts');
  const explanation = await withDown(explainFlow(question, context));
  const { explainFlowText } = await import('../explain-flow-text.ts');
  terminal.stdout.write(options.json === true ? `${JSON.stringify(explanation)}\n` : explainFlowText(explanation));
}

function requestQuestion(url: string, options: ExplainOptions): Question {
  const given = (['sni', 'alpn', 'firstBytes'] as const).find((name) => options[name] !== undefined);
  if (given !== undefined) throw new CliError(`--${FLAGS[given]} is for tcp/… and udp/…, not for a request`, 2);
  const { method = 'GET', peer, header } = options;
  return { url, peer, method, headers: header.map(headerOf) };
}

function flowQuestion(address: string, options: ExplainOptions): FlowQuestion {
  const { peer, sni, alpn, firstBytes, header, method } = options;
  if (header.length > 0 || method !== undefined) {
    throw new CliError('--header and --method are for requests: layer 4 sees bytes, give them with --first-bytes', 2);
  }
  return {
    address,
    peer,
    ...(sni === undefined ? {} : { sni }),
    ...(alpn === undefined ? {} : { alpn: alpn.split(',') }),
    ...(firstBytes === undefined ? {} : { firstBytes }),
  };
}

async function contextOf(options: ExplainOptions, terminal: Terminal): Promise<ExplainContext> {
  const request = await readConfigFile(options);
  const { checkConfig } = await import('../check-config.ts');
  const { describePlace } = await import('../../control-plane/config/positions.ts');
  const { readProcessFacts } = await import('../../data-plane/process-facts.ts');
  const { PlannedConfig } = await import('../planned-config.ts');
  const { compiled, positions } = checkConfig(request, terminal.env);
  const planned = new PlannedConfig(compiled, options.down);
  return {
    compiled,
    bound: new Map(),
    facts: readProcessFacts(terminal.env),
    wallMs: Date.now(),
    seed: Date.now(),
    poolOf: (hash) => planned.pool(hash),
    derived: (pattern, addresses) => planned.derived(pattern, addresses),
    place: (path) => describePlace(positions, path),
  };
}

async function withDown<Explained extends Explanation | FlowExplanation>(explanation: Explained): Promise<Explained> {
  const { withReasons } = await import('../../control-plane/explain/explain-proxy.ts');
  const down = explanation.outcome.kind === 'proxy' ? explanation.outcome.proxy.members : [];
  return withReasons(explanation, (position) => (down[position]?.state === 'down' ? 'as --down says' : ''));
}

function headerOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new CliError(`--header '${line}' is no header line: write 'Name: value'`, 2);
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
