/** The variables that have a value, in a plain object: what can be handed to a thread. */
export function definedVariables(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
