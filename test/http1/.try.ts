import { Generator } from '/work/main/test/http1/generator.ts';
import { NodeReader } from '/work/main/test/http1/node-reader.ts';
import { compare } from '/work/main/test/http1/compare.ts';
import { seededRandom } from '/work/main/src/shared/random.ts';
const g=new Generator(seededRandom(Number(process.argv[2]??1))); const n=new NodeReader();
const t=Date.now(); let bad=0; const kinds=new Map(); let acc=0, msgs=0;
for(let i=0;i<Number(process.argv[3]??20000);i++){const c=g.next(); const r=compare(c,n); 
 if(r.ours.messages.length&&r.ours.messages[0].complete)acc++;
 if(r.difference){bad++; const k=r.difference.split('\n')[0].slice(0,40); kinds.set(k,(kinds.get(k)??0)+1); if(kinds.get(k)<=3) console.log(JSON.stringify(c),'\n ',r.difference,'\n');}}
console.log(bad,kinds,acc,Date.now()-t);
