// A plain web server of a folder, with ranges; counts what is asked for.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';

export async function serve(folder, ranges = true) {
  const asked = [];
  const server = createServer((request, reply) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
    asked.push({ path, range: request.headers.range });
    let size;
    try {
      const found = statSync(join(folder, path));
      if (!found.isFile()) throw new Error('not a file');
      size = found.size;
    } catch {
      reply.writeHead(404).end();
      return;
    }
    const range = ranges && /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const [start, end] = range ? [Number(range[1]), Math.min(Number(range[2]), size - 1)] : [0, size - 1];
    reply.writeHead(range ? 206 : 200, { 'content-length': end - start + 1, 'content-range': `bytes ${start}-${end}/${size}` });
    createReadStream(join(folder, path), { start, end }).pipe(reply);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, asked, close: () => server.close() };
}
