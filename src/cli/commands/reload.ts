import type { Command } from 'commander';
import { z } from 'zod';
import type { ConfigWarning } from '../../control-plane/compile/compiled.ts';
import { describePlace, findPosition, type Positions } from '../../control-plane/config/positions.ts';
import { DEFAULT_ADMIN_ADDRESS, postAdmin } from '../admin-client.ts';
import { changesText } from '../changes-text.ts';
import { readConfigFile, type ConfigOptions } from '../config-file.ts';
import { CliError } from '../failure.ts';
import { printWarnings, type Terminal } from '../output.ts';
import { addConfigOptions } from '../shared-options.ts';

interface ReloadOptions extends ConfigOptions {
  readonly address?: string;
  readonly force?: boolean;
}

/**
 * `reload [--config F] [--address A]`: puts a config in force in a running balancer. The file is
 * adapted here, so that imports and environment are those of this shell.
 */
export function addReloadCommand(program: Command, terminal: Terminal): void {
  addConfigOptions(program.command('reload'))
    .description('put a config in force in a running balancer')
    .option(
      '--address <address>',
      "admin address of the running balancer, host:port or unix//path (default: the config's, or localhost:2019)",
    )
    .option('--force', 'load it even when nothing changed')
    .action(async (options: ReloadOptions) => {
      const request = await readConfigFile(options);
      const { checkConfig } = await import('../check-config.ts');
      // Faults and warnings are told here, where their line in the file is known.
      const { config, warnings, positions } = checkConfig(request, terminal.env);
      printWarnings(terminal, warnings);
      const address = options.address ?? adminAddressOf(config);
      const reply = await postAdmin(address, '/load', JSON.stringify(config), {
        'Content-Type': 'application/json',
        ...(options.force === true ? { 'Cache-Control': 'must-revalidate' } : {}),
      }).catch((error: unknown) => {
        throw placedInFile(error, positions);
      });
      const loaded = readReply(reply);
      printWarnings(terminal, untoldWarnings(loaded.warnings, warnings, positions));
      terminal.stdout.write(loaded.unchanged ? 'nothing changed\n' : `reloaded\n${changesText(loaded.changes)}`);
    });
}

/** The balancer was sent JSON, so it places faults and warnings by JSON path. */
const PATH_AT_END = /, at (apps\.\S+)$/;

function placedInFile(error: unknown, positions: Positions): unknown {
  if (!(error instanceof CliError)) return error;
  const message = error.message.replace(PATH_AT_END, (_, path: string) => `, at ${describePlace(positions, path)}`);
  return new CliError(message, error.exitCode, { cause: error });
}

/**
 * Warnings of the balancer about places that nothing was told of here. What it says of the others is the same in
 * other words: it knows its data directory.
 */
function untoldWarnings(
  found: readonly ConfigWarning[],
  told: readonly ConfigWarning[],
  positions: Positions,
): readonly ConfigWarning[] {
  const known = new Set(told.map(subjectOf));
  return found.map((warning) => placedWarning(warning, positions)).filter((warning) => !known.has(subjectOf(warning)));
}

function placedWarning(warning: ConfigWarning, positions: Positions): ConfigWarning {
  const path = PATH_AT_END.exec(warning.message)?.[1];
  const position = path === undefined ? null : findPosition(positions, path);
  if (position === null) return warning;
  const { file, line } = position;
  return { ...warning, file, line, message: warning.message.replace(PATH_AT_END, '') };
}

function subjectOf({ file, line, directive, message }: ConfigWarning): string {
  return line > 0 ? `${file}:${line}: ${directive}` : message;
}

/** `admin.listen` of the config: the balancer that runs an older one listens there too, most likely. */
function adminAddressOf(config: unknown): string {
  const admin = fieldOf(config, 'admin');
  if (fieldOf(admin, 'disabled') === true) {
    throw new CliError('the config turns the admin API off: name the address of the running one with --address');
  }
  const listen = fieldOf(admin, 'listen');
  if (typeof listen !== 'string' || listen === '') return DEFAULT_ADMIN_ADDRESS;
  const address = listen.replace(/^tcp\//, '').replace(/^(unix\/[^|]*)\|.*$/, '$1');
  return address.startsWith(':') ? `localhost${address}` : address.replace(/^(0\.0\.0\.0|\[::\]):/, 'localhost:');
}

const REPLY = z.object({
  unchanged: z.boolean(),
  warnings: z.array(z.object({ file: z.string(), line: z.number(), directive: z.string(), message: z.string() })),
  changes: z.array(
    z.object({
      change: z.enum(['added', 'removed', 'changed']),
      what: z.enum(['listener', 'server', 'site', 'pool', 'admin', 'global']),
      name: z.string(),
      detail: z.string(),
      moved: z.number().nullable(),
    }),
  ),
});

function readReply(text: string): z.infer<typeof REPLY> {
  try {
    return REPLY.parse(JSON.parse(text));
  } catch (error) {
    throw new CliError('the config was loaded, but the reply is not one of Holdfast', 1, { cause: error });
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
