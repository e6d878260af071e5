/**
 * Sends a message when a deal in the CRM reaches a stage.
 *
 *   PORT=8080 node crm-webhook.ts, then POST {eventId, stage, contact: {name, phone}} to http://localhost:8080/
 */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Linepace, LinepaceError } from 'linepace';

interface DealChanged {
  eventId: string;
  stage: string;
  contact: { name: string; phone: string };
}

const linepace = new Linepace();

const server = createServer(async (request, response) => {
  const { eventId, stage, contact } = (await json(request)) as DealChanged;
  if (stage !== 'proposal_sent') return response.writeHead(204).end();
  try {
    const { _id } = await linepace.messages.send(
      {
        message: `Hi ${contact.name}, your proposal is on its way. Any questions? Just reply here.`,
        recipientPhone: contact.phone,
        recipientName: contact.name,
        correlationId: eventId,
      },
      // The CRM repeats its webhook until it gets a 2xx. The contact gets one message.
      { headers: { 'Idempotency-Key': `crm-${eventId}` } },
    );
    return response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ messageId: _id }));
  } catch (error) {
    if (!(error instanceof LinepaceError)) throw error;
    // A wrong number stays wrong: only other failures are worth another attempt of the CRM.
    return response.writeHead(error.status === 400 ? 200 : 502).end(error.message);
  }
});

server.listen(Number(process.env.PORT ?? 8080), () => console.log('ready'));
