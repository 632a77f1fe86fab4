/** Entry of the command line. */
import { runCommandLine } from './program.ts';

// Not process.exit: output that is still in a pipe would be lost.
process.exitCode = await runCommandLine(process.argv.slice(2), process);
