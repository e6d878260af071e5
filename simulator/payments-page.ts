import { escapeHtml } from '#providers/mail/html.ts';
import type { CardPage, Invoice } from './payments-ledger.ts';

const dollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`;

const STATUS_TEXT: Record<Invoice['status'], string> = {
  draft: 'Not yet issued.',
  open: 'Not yet paid.',
  paid: 'Paid. Thank you.',
  void: 'Void. Nothing was charged.',
};

/** The hosted invoice page, with one button that posts to the same URL. */
export function payPage({ id, lines, amount_due: due, status }: Invoice, problem?: string): string {
  const items = lines.data
    .map(({ description, amount }) => `<li>${escapeHtml(description)}: ${dollars(amount)}</li>`)
    .join('');
  return page(`<p>Invoice ${escapeHtml(id)}</p>
<ul>${items}</ul>
<p>Due: <strong>${dollars(due)}</strong></p>
<p>${STATUS_TEXT[status]}</p>
${problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`}
${status === 'open' ? button('Pay with the saved card') : ''}`);
}

/** The hosted page of `POST /api/agency/billing/card`: a card that needs no number. */
export function cardPage({ status, success_url: returnUrl }: CardPage): string {
  return page(
    status === 'open'
      ? button('Save a card')
      : `<p>The card is saved.</p>\n<p><a href="${escapeHtml(returnUrl)}">Back</a></p>`,
  );
}

const button = (text: string): string => `<form method="post"><button type="submit">${text}</button></form>`;

const page = (content: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Simulated payment</title></head>
<body>
<h1>Simulated payment</h1>
${content}
</body>
</html>
`;
