import type { Command } from 'commander';
import type { Explanation } from '../../control-plane/explain/explanation.ts';
import type { Question } from '../../control-plane/explain/question.ts';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';
import { addConfigOptions, collect } from '../shared-options.ts';

interface ExplainOptions extends ConfigOptions {
  readonly peer: string;
  readonly header: readonly string[];
  readonly method: string;
  readonly down: readonly string[];
  readonly json?: boolean;
}

/** `explain [--config F] --peer IP URL`: where a request would go and why, without sending it. */
export function addExplainCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('explain'))
    .description('show where a request would go, and why')
    .argument('<url>', 'URL of the request, such as http://shop.example.com/cart')
    .requiredOption('--peer <ip>', 'address the connection comes from')
    .option('--header <line>', "header line of the request, 'Name: value'; may be repeated", collect, [])
    .option('--method <method>', 'method of the request', 'GET')
    .option('--down <address>', 'an upstream that is down; may be repeated', collect, [])
    .option('--json', 'print JSON')
    .action(async (url: string, options: ExplainOptions) => {
      const { method, peer } = options;
      const explanation = await answer({ url, peer, method, headers: options.header.map(headerOf) }, options, terminal);
      const { explainText } = await import('../explain-text.ts');
      terminal.stdout.write(options.json === true ? `${JSON.stringify(explanation)}\n` : explainText(explanation));
    });
}

async function answer(question: Question, options: ExplainOptions, terminal: Terminal): Promise<Explanation> {
  const request = await readConfigFile(options);
  const { checkConfig } = await import('../check-config.ts');
  const { explain } = await import('../../control-plane/explain/explain.ts');
  const { withReasons } = await import('../../control-plane/explain/explain-proxy.ts');
  const { describePlace } = await import('../../control-plane/config/positions.ts');
  const { readProcessFacts } = await import('../../data-plane/process-facts.ts');
  const { PlannedConfig } = await import('../planned-config.ts');
  const { compiled, positions } = checkConfig(request, terminal.env);
  const planned = new PlannedConfig(compiled, options.down);
  const explanation = explain(question, {
    compiled,
    bound: new Map(),
    facts: readProcessFacts(terminal.env),
    wallMs: Date.now(),
    seed: Date.now(),
    poolOf: (hash) => planned.pool(hash),
    place: (path) => describePlace(positions, path),
  });
  const down = explanation.outcome.kind === 'proxy' ? explanation.outcome.proxy.members : [];
  return withReasons(explanation, (position) => (down[position]?.state === 'down' ? 'as --down says' : ''));
}

function headerOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new CliError(`--header '${line}' is no header line: write 'Name: value'`, 2);
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
