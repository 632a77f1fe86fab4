import { setField } from '../context.ts';
import { failure } from '../syntax/failure.ts';
import { duration, one } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

function period(name: 'grace_period' | 'shutdown_delay'): GlobalOption {
  return {
    name,
    parse(statement, options, adaptation) {
      const token = one(statement);
      const value = duration(token);
      if (value < 0) throw failure(token, `${name} cannot be negative: '${token.text}'`);
      setField(options.http, name, value, token, adaptation.origins);
    },
  };
}

/** `grace_period <duration>`: how long running requests may go on at a stop. */
export const gracePeriod: GlobalOption = period('grace_period');

/** `shutdown_delay <duration>`: how long a listener that goes away still serves. */
export const shutdownDelay: GlobalOption = period('shutdown_delay');
