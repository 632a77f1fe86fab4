import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, some, texts, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { nearestHint } from '../../unknown-word.ts';

/** Loaders, and the field that holds what they are given. */
const LOADERS: Readonly<Record<string, string>> = Object.freeze({
  file: 'files',
  folder: 'folders',
  pem: 'certificates',
});

/** `verifier leaf file|folder|pem <text>…`, or the same in the lines of a block. */
export function verifier(line: Statement): JsonObject {
  const [module, word, ...values] = line.args;
  if (module === undefined) throw wrongCount(line);
  if (module.text !== 'leaf') {
    throw failure(module, `module not registered: tls.client_auth.verifier.${module.text}; the verifier is leaf`);
  }
  const loaders = word === undefined ? [] : [loader(word, values)];
  for (const option of blockOf(line)) loaders.push(loader(option.name, some(option, 1)));
  if (loaders.length === 0) throw failure(line.name, 'verifier leaf needs certificates: write file <pem>…');
  return leafVerifier(loaders);
}

export function leafVerifier(loaders: JsonObject[]): JsonObject {
  return { leaf_certs_loaders: loaders, verifier: 'leaf' };
}

function loader(word: Token, values: readonly Token[]): JsonObject {
  const field = Object.hasOwn(LOADERS, word.text) ? LOADERS[word.text] : undefined;
  if (word.text === 'storage') throw failure(word, "'verifier leaf storage' is not supported yet");
  if (field === undefined) {
    const what = `module not registered: tls.leaf_cert_loader.${word.text}`;
    throw failure(word, `${what}${nearestHint(word.text, Object.keys(LOADERS))}`);
  }
  if (values.length === 0) throw failure(word, `${word.text} needs at least one value`);
  return { [field]: texts(values), loader: word.text };
}
