/** What a CPU profile says about functions: time spent in each itself, without what it calls. */
import type { Profiler } from 'node:inspector';

export interface HotSpot {
  readonly name: string;
  readonly share: number;
}

/** Busy time only: idle samples are left out. The most expensive first. */
export function hotSpots(profile: Profiler.Profile): HotSpot[] {
  const nameOf = new Map(profile.nodes.map((node) => [node.id, describe(node)]));
  const timeOf = new Map<string, number>();
  let busy = 0;
  for (const [at, id] of (profile.samples ?? []).entries()) {
    const name = nameOf.get(id) ?? '';
    if (name === '(idle)' || name === '(root)') continue;
    const time = Math.max(0, profile.timeDeltas?.[at] ?? 0);
    busy += time;
    timeOf.set(name, (timeOf.get(name) ?? 0) + time);
  }
  return [...timeOf].map(([name, time]) => ({ name, share: time / busy })).sort((a, b) => b.share - a.share);
}

function describe({ callFrame }: Profiler.ProfileNode): string {
  const { functionName, url, lineNumber } = callFrame;
  const file = url.replace(/^.*\/(dist|node_modules)\//, '');
  const place = file === '' ? '' : ` ${file}:${lineNumber + 1}`;
  return `${functionName === '' ? '(anonymous)' : functionName}${place}`;
}
