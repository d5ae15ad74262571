// A reporter of node:test that writes a JUnit report: each test with its file and its groups.
import { relative } from 'node:path';
import { inspect } from 'node:util';

const plain = (value) => (typeof value === 'string' ? value : inspect(value)); // any value can be thrown

const quoted = (value) =>
  `"${plain(value)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff]/g, '?')
    .replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;').replace(/\n/g, '&#10;')}"`;

const place = (file) => (file ? relative(process.cwd(), String(file).replace(/^file:\/\//, '')) : '');

export default async function* report(events) {
  const names = new Map(); // by file, the names that lead to the current test
  yield '<testsuites><testsuite name="node">\n';
  for await (const { type, data } of events) {
    const at = names.get(data?.file) ?? [];
    if (type === 'test:start') {
      names.set(data.file, [...at.slice(0, data.nesting), data.name]);
      continue;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details?.error?.cause ?? data.details?.error;
    if (data.details?.type === 'suite' && (type === 'test:pass' || data.details.error?.failureType === 'subtestsFailed')) continue;
    const file = place(data.file);
    const path = [...at.slice(0, data.nesting), data.name].map((name) => (place(name) === file && file ? file : name));
    yield `<testcase classname=${quoted(file)} name=${quoted(path.join(' > '))} file=${quoted(file)}>`;
    if (data.skip !== undefined || data.todo !== undefined) {
      yield `<skipped message=${quoted(data.skip ?? data.todo)}/>`;
    } else if (type === 'test:fail') {
      const kind = error?.code === 'ERR_ASSERTION' || error?.name === 'AssertionError' ? 'failure' : 'error';
      const words = `${plain(error?.name ?? 'Error')}: ${plain(error?.message ?? error)}`;
      yield `<${kind} type=${quoted(error?.name ?? '')} message=${quoted(words.slice(0, 2000))}/>`;
    }
    yield '</testcase>\n';
  }
  yield '</testsuite></testsuites>\n';
}
