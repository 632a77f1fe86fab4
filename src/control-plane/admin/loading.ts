import { ReplacedError } from '../reload/load-queue.ts';
import { AdminError, type AdminRequest } from './exchange.ts';

/** `Cache-Control: must-revalidate` loads even what did not change. */
export function mustRevalidate(request: AdminRequest): boolean {
  return /(^|[\s,])must-revalidate($|[\s,])/i.test(request.header('cache-control'));
}

/** Runs `task`; a failure becomes an error reply that begins with `what`. */
export async function refusing<T>(what: string, task: () => Promise<T> | T): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof AdminError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AdminError(statusOf(error), `${what}: ${reason}`, { cause: error });
  }
}

/** A config that cannot be put in force is the client's; what JavaScript itself throws is ours. */
function statusOf(error: unknown): number {
  if (error instanceof ReplacedError) return 409;
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError ? 500 : 400;
}
