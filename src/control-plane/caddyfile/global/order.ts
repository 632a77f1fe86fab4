import { DIRECTIVES } from '../registry.ts';
import { failure } from '../syntax/failure.ts';
import { some, wrongCount } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** `order <directive> first|last|before <other>|after <other>`. */
export const order: GlobalOption = {
  name: 'order',
  parse(statement, _options, adaptation) {
    const [directive, place, other] = some(statement, 2, 3);
    if (directive === undefined || place === undefined) throw wrongCount(statement);
    if (!DIRECTIVES.has(directive.text)) throw failure(directive, `${directive.text} is not a registered directive`);
    const rest = adaptation.order.filter((name) => name !== directive.text);
    if (place.text === 'first' || place.text === 'last') {
      if (other !== undefined) throw wrongCount(statement);
      adaptation.order = place.text === 'first' ? [directive.text, ...rest] : [...rest, directive.text];
      return;
    }
    if (place.text !== 'before' && place.text !== 'after') {
      throw failure(place, `unknown positional '${place.text}': write first, last, before or after`);
    }
    if (other === undefined) throw wrongCount(statement);
    const at = rest.indexOf(other.text);
    if (at === -1) throw failure(other, `directive '${other.text}' not found in the order`);
    adaptation.order = rest.toSpliced(place.text === 'before' ? at : at + 1, 0, directive.text);
  },
};
