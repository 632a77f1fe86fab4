/** Header operations: maps become lists of pairs, in the order they were written. */
import type { HeaderOpsPlan, ResponseHeaderOpsPlan } from '../../shared/plan/types.ts';
import type { HeaderOpsConfig, ResponseHeaderOpsConfig } from '../config/schema/header-ops.ts';

export function compileHeaderOps(config: HeaderOpsConfig): HeaderOpsPlan {
  return {
    add: Object.entries(config.add),
    set: Object.entries(config.set),
    delete: config.delete,
    replace: Object.entries(config.replace).map(([field, rules]) => [
      field,
      rules.map((rule) => ({ search: rule.search, searchRegexp: rule.search_regexp, replace: rule.replace })),
    ]),
  };
}

export function compileResponseOps(config: ResponseHeaderOpsConfig): ResponseHeaderOpsPlan {
  const { require } = config;
  return {
    ...compileHeaderOps(config),
    deferred: config.deferred,
    require: require === null ? null : { status: require.status_code, headers: require.headers },
  };
}
