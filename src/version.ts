/** The version of svc, as in package.json; a test keeps the two equal. */
export const version = '0.2.0';

/** The address for questions and reports, as in package.json; a test keeps the two equal. */
export const questionsUrl = 'https://github.com/OWNER/svc/issues';
