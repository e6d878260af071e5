import { type SecretBox, secretContext } from '../secret-box.ts';

/** What an email is filled with is sealed for its row: it holds links that act for whoever has them. */
export const mailSeal = (secrets: SecretBox, workspaceId: string) => ({
  seal: (plain: string, mailId: string): string =>
    secrets.seal(plain, secretContext('mail', workspaceId, mailId)),
  open: (sealed: string, mailId: string): string =>
    secrets.open(sealed, secretContext('mail', workspaceId, mailId)),
});
