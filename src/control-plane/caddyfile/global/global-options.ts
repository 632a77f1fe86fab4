import type { Adaptation } from '../context.ts';
import { lineFailure, within } from '../syntax/failure.ts';
import type { Statement } from '../syntax/statement.ts';
import { globalOptionHint } from '../unknown-word.ts';
import {
  acmeCa,
  acmeCaRoot,
  acmeDns,
  acmeEab,
  certIssuer,
  email,
  keyType,
  ocspStapling,
  onDemandTls,
  renewInterval,
  storage,
  storageCleanInterval,
} from './acme.ts';
import { admin } from './admin.ts';
import { autoHttps } from './auto-https.ts';
import { defaultSni, fallbackSni, localCerts, pki, skipInstallTrust } from './certificates.ts';
import { debug } from './debug.ts';
import { defaultBind } from './default-bind.ts';
import { layer4 } from '../layer4/layer4.ts';
import { log } from './log.ts';
import { metrics } from './metrics.ts';
import { type GlobalOption, type GlobalOptions, newGlobalOptions } from './option.ts';
import { order } from './order.ts';
import { gracePeriod, nameRefresh, shutdownDelay, workerHangTimeout } from './periods.ts';
import { persistConfig } from './persist-config.ts';
import { httpPort, httpsPort } from './ports.ts';
import { resolvers } from './resolvers.ts';
import { servers } from './servers.ts';

const OPTIONS: ReadonlyMap<string, GlobalOption> = new Map(
  [
    acmeCa,
    acmeCaRoot,
    acmeDns,
    acmeEab,
    admin,
    autoHttps,
    certIssuer,
    debug,
    defaultBind,
    defaultSni,
    email,
    fallbackSni,
    gracePeriod,
    httpPort,
    httpsPort,
    keyType,
    layer4,
    localCerts,
    log,
    metrics,
    nameRefresh,
    ocspStapling,
    onDemandTls,
    order,
    persistConfig,
    pki,
    renewInterval,
    resolvers,
    servers,
    shutdownDelay,
    skipInstallTrust,
    storage,
    storageCleanInterval,
    workerHangTimeout,
  ].map((option) => [option.name, option]),
);

export function parseGlobalOptions(statements: readonly Statement[], adaptation: Adaptation): GlobalOptions {
  const options = newGlobalOptions();
  for (const statement of statements) {
    const { name } = statement;
    const option = OPTIONS.get(name.text);
    if (option === undefined) {
      const hint = globalOptionHint(name.text, OPTIONS.keys());
      throw lineFailure(name, `unrecognized global option: ${name.text}${hint}`);
    }
    within(name.text, () => option.parse(statement, options, adaptation));
  }
  return options;
}
