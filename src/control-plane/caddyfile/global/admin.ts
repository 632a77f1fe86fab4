import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, some, texts, wrongCount } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** `admin off | [<address>] { origins <origin>…; enforce_origin }`. */
export const admin: GlobalOption = {
  name: 'admin',
  parse(statement, options, adaptation) {
    const [address, surplus] = statement.args;
    if (surplus !== undefined) throw wrongCount(statement);
    const json: JsonObject = {};
    if (address?.text === 'off') json['disabled'] = true;
    else if (address !== undefined) json['listen'] = address.text;
    for (const line of blockOf(statement)) {
      if (address?.text === 'off') throw failure(line.name, 'admin is off: nothing can be set for it');
      if (line.name.text === 'origins') json['origins'] = texts(some(line, 1));
      else if (line.name.text === 'enforce_origin') {
        flag(line);
        json['enforce_origin'] = true;
      } else throw failure(line.name, `unrecognized parameter '${line.name.text}'`);
    }
    options.admin = adaptation.origins.mark(json, statement.name);
  },
};
