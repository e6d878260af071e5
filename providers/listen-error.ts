/** What is wrong if a server cannot listen. @param variable the variable that names the port. */
export function listenError(error: NodeJS.ErrnoException, port: number, variable: string): Error {
  if (error.code === 'EADDRINUSE')
    return new Error(`The port ${port} is in use: ${variable} names another`, { cause: error });
  if (error.code === 'EACCES')
    return new Error(`This user may not listen on the port ${port}: ${variable} names another`, {
      cause: error,
    });
  return error;
}
