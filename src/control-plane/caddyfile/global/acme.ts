/** Global options about certificates of public authorities. */
import { setField } from '../context.ts';
import { dnsProvider, externalAccount } from '../directives/tls/acme-options.ts';
import { readIssuer } from '../directives/tls/issuer.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, duration, one, oneWithBlock, some } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** `email <address>`: of the accounts at authorities. */
export const email: GlobalOption = {
  name: 'email',
  parse: (statement, { acme }, { origins }) => setField(acme, 'email', one(statement).text, statement.name, origins),
};

/** `acme_ca <directory>`. */
export const acmeCa: GlobalOption = {
  name: 'acme_ca',
  parse: (statement, { acme }, { origins }) => setField(acme, 'ca', one(statement).text, statement.name, origins),
};

/** `acme_ca_root <pem file>`: who signs for the directory itself. */
export const acmeCaRoot: GlobalOption = {
  name: 'acme_ca_root',
  parse: (statement, { acme }, { origins }) =>
    setField(acme, 'trusted_roots_pem_files', [one(statement).text], statement.name, origins),
};

/** `acme_eab <key id> <MAC key>`, or a block. */
export const acmeEab: GlobalOption = {
  name: 'acme_eab',
  parse: (statement, { acme }, { origins }) =>
    setField(acme, 'external_account', externalAccount(statement), statement.name, origins),
};

/** `acme_dns hook <program>`. */
export const acmeDns: GlobalOption = {
  name: 'acme_dns',
  parse(statement, { acme }, { origins }) {
    const dns = origins.mark({ provider: dnsProvider(statement) }, statement.name);
    setField(acme, 'challenges', { dns }, statement.name, origins);
  },
};

/** `cert_issuer internal|acme …`: several are tried in turn. */
export const certIssuer: GlobalOption = {
  name: 'cert_issuer',
  parse: (statement, { issuers }, { origins }) => void issuers.push(readIssuer(statement, origins)),
};

/** `key_type p256|p384|rsa2048|rsa4096`. */
export const keyType: GlobalOption = {
  name: 'key_type',
  parse: (statement, { policy }, { origins }) =>
    setField(policy, 'key_type', one(statement).text, statement.name, origins),
};

/** `ocsp_stapling off`. */
export const ocspStapling: GlobalOption = {
  name: 'ocsp_stapling',
  parse(statement, options) {
    const word = one(statement);
    if (word.text !== 'off') throw failure(word, `invalid argument '${word.text}': write off`);
    options.policy['disable_ocsp_stapling'] = true;
  },
};

/** `renew_interval <duration>`. */
export const renewInterval: GlobalOption = {
  name: 'renew_interval',
  parse: (statement, { automation }, { origins }) =>
    setField(automation, 'renew_interval', duration(one(statement)), statement.name, origins),
};

/** `storage_clean_interval <duration>`. */
export const storageCleanInterval: GlobalOption = {
  name: 'storage_clean_interval',
  parse: (statement, { automation }, { origins }) =>
    setField(automation, 'storage_clean_interval', duration(one(statement)), statement.name, origins),
};

/** `storage file_system <folder>`, or `{ root <folder> }`. */
export const storage: GlobalOption = {
  name: 'storage',
  parse(statement, options, { origins }) {
    const [module, folder] = some({ ...statement, block: null }, 1, 2);
    if (module!.text !== 'file_system') {
      throw failure(module!, `module not registered: caddy.storage.${module!.text}; the storage is file_system`);
    }
    const json = origins.mark({ module: 'file_system' }, statement.name);
    options.storage = json;
    if (folder !== undefined) setField(json, 'root', folder.text, folder, origins);
    for (const line of blockOf(statement)) {
      if (line.name.text !== 'root') throw failure(line.name, `unrecognized option '${line.name.text}': write root`);
      setField(json, 'root', one(line).text, line.name, origins);
    }
  },
};

/** `on_demand_tls { ask <url> }`: who says which names certificates may be had for. */
export const onDemandTls: GlobalOption = {
  name: 'on_demand_tls',
  parse(statement, options, { origins }) {
    some({ ...statement, block: null }, 0, 0);
    for (const line of blockOf(statement)) {
      const permission = permissionOf(line);
      const json = origins.mark({ permission: origins.mark(permission, line.name) }, statement.name);
      setField(options.automation, 'on_demand', json, statement.name, origins);
    }
    if (blockOf(statement).length === 0)
      throw failure(statement.name, 'expected at least one config parameter for on_demand_tls');
  },
};

function permissionOf(line: Parameters<GlobalOption['parse']>[0]): { module: string; endpoint: string } {
  switch (line.name.text) {
    case 'ask':
      return { module: 'http', endpoint: one(line).text };
    case 'permission': {
      const [module, endpoint] = some(line, 2, 2);
      if (module!.text !== 'http') {
        throw failure(module!, `module not registered: tls.permission.${module!.text}; the permission is http`);
      }
      return { module: 'http', endpoint: endpoint!.text };
    }
    case 'interval':
    case 'burst':
      throw failure(line.name, `the on_demand_tls '${line.name.text}' option is no longer supported, remove it`);
    default:
      throw failure(oneWithBlock(line), `unrecognized parameter '${line.name.text}': write ask`);
  }
}
