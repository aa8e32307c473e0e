// Follows one turn on two ports at once, and prints by how many milliseconds each event came later on the second.
//   node compare-arrival.mjs <turn id> <port> <port>     TURND_TOKEN in the environment
const [turnId, ...ports] = process.argv.slice(2);
const headers = { accept: "text/event-stream", authorization: `Bearer ${process.env.TURND_TOKEN}` };

/** When each event's frame came, milliseconds, by its id. */
async function follow(port) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/turns/${turnId}/events`, { headers });
  const arrivals = new Map();
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const frames = text.split("\n\n");
    text = frames.pop();
    for (const frame of frames) {
      const id = /^id: (\d+)$/m.exec(frame)?.[1];
      if (id !== undefined) arrivals.set(id, performance.now());
    }
  }
  return arrivals;
}

const [first, second] = await Promise.all(ports.map(follow));
process.stdout.write(JSON.stringify([...first].map(([id, at]) => second.get(id) - at)));
