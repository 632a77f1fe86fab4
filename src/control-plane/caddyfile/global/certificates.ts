import { setField } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, duration, flag, one, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { nearestHint } from '../unknown-word.ts';
import type { GlobalOption, GlobalOptions } from './option.ts';

/** `default_sni <name>`: what a client that names no host stands for. */
export const defaultSni: GlobalOption = {
  name: 'default_sni',
  parse(statement, options) {
    options.defaultSni = one(statement).text;
  },
};

/** `fallback_sni <name>`: whose certificate is shown when there is none for the wanted name. */
export const fallbackSni: GlobalOption = {
  name: 'fallback_sni',
  parse(statement, options) {
    options.fallbackSni = one(statement).text;
  },
};

/** `local_certs`: every certificate is issued by the authority of our own. */
export const localCerts: GlobalOption = {
  name: 'local_certs',
  parse(statement, options) {
    flag(statement);
    options.localCerts = true;
  },
};

/** `skip_install_trust`: accepted; roots are installed by `holdfast trust` alone. */
export const skipInstallTrust: GlobalOption = {
  name: 'skip_install_trust',
  parse(statement, options) {
    flag(statement);
    authorityOf(options, 'local')['install_trust'] = false;
  },
};

const AUTHORITY_WORDS: readonly string[] = Object.freeze([
  'name',
  'root_cn',
  'intermediate_cn',
  'intermediate_lifetime',
  'root',
]);

/** `pki { ca [<id>] { name · root_cn · intermediate_cn · intermediate_lifetime · root { cert · key } } }`. */
export const pki: GlobalOption = {
  name: 'pki',
  parse(statement, options, { origins }) {
    some({ ...statement, block: null }, 0, 0);
    for (const line of blockOf(statement)) {
      if (line.name.text !== 'ca') throw failure(line.name, `unrecognized pki option '${line.name.text}': write ca`);
      const [id] = some({ ...line, block: null }, 0, 1);
      const json = origins.mark(authorityOf(options, id?.text ?? 'local'), line.name);
      for (const option of blockOf(line)) {
        const [key, value] = authorityField(option);
        setField(json, key, value, option.name, origins);
      }
    }
  },
};

function authorityField(option: Statement): [string, string | number | JsonObject] {
  const { text } = option.name;
  switch (text) {
    case 'name':
      return ['name', one(option).text];
    case 'root_cn':
      return ['root_common_name', one(option).text];
    case 'intermediate_cn':
      return ['intermediate_common_name', one(option).text];
    case 'intermediate_lifetime':
      return ['intermediate_lifetime', duration(one(option))];
    case 'root':
      return ['root', rootFiles(option)];
    case 'intermediate':
    case 'maintenance_interval':
    case 'renewal_window_ratio':
      throw failure(option.name, `'${text}' in pki is not supported yet`);
    default:
      throw failure(option.name, `unrecognized pki ca option '${text}'${nearestHint(text, AUTHORITY_WORDS)}`);
  }
}

function rootFiles(option: Statement): JsonObject {
  const json: JsonObject = {};
  for (const line of blockOf(option)) {
    const names: Readonly<Record<string, string>> = { cert: 'certificate', key: 'private_key', format: 'format' };
    const field = Object.hasOwn(names, line.name.text) ? names[line.name.text] : undefined;
    if (field === undefined) throw failure(line.name, `unrecognized option '${line.name.text}': write cert and key`);
    json[field] = one(line).text;
  }
  return json;
}

function authorityOf({ authorities }: GlobalOptions, id: string): JsonObject {
  const known = authorities.get(id);
  if (known !== undefined) return known;
  const json: JsonObject = {};
  authorities.set(id, json);
  return json;
}
