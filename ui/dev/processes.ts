/** Processor time of processes, as Linux counts it. */
import { readdirSync, readFileSync } from 'node:fs';

/** The system counts in hundredths of a second. */
const TICK_MS = 10;

interface Process {
  parent: number;
  ms: number;
}

/** The processor time of a process and of those that it started, in ms. The branch that contains this process does not count. */
export function processorMs(root: number): number {
  const all = readProcesses();
  const own = new Set<number>();
  for (let at = process.pid; at !== root && all.has(at); at = all.get(at)?.parent ?? 0) own.add(at);
  let sum = 0;
  const counted = [root];
  for (const id of counted) {
    sum += all.get(id)?.ms ?? 0;
    for (const [child, { parent }] of all) if (parent === id && !own.has(child)) counted.push(child); // the loop also visits these
  }
  return sum;
}

function readProcesses(): Map<number, Process> {
  const all = new Map<number, Process>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const [parent, user, system] = [fields[1], fields[11], fields[12]].map(Number);
      all.set(Number(name), { parent: parent ?? 0, ms: TICK_MS * ((user ?? 0) + (system ?? 0)) });
    } catch {
      // The process ended in the meantime.
    }
  }
  return all;
}
