import { Command } from 'commander'
import { type Edge, forgetEdge, listEdges } from '../core/edges.ts'
import { ownCommand } from '../own-command.ts'
import { withInstallation } from './installation.ts'
import { printable, show, shownTime, styled, table } from './output.ts'

type Options = { json?: boolean }

/** `namesake edges list|forget` */
export function edgesCommand(): Command {
  const edges = new Command('edges').description('The machines that serve visitors, as each says of itself every two seconds')
  edges.command('list').description('How every edge of the last day stands').option('--json', 'print JSON').action(list)
  edges
    .command('forget')
    .description('Take a machine off the list that was taken away for good')
    .argument('<name>', 'its name, or its id, which edges list --json shows')
    .option('--json', 'print JSON')
    .action(forget)
  return edges
}

async function list({ json }: Options): Promise<void> {
  const edges = await withInstallation(({ db }) => listEdges(db))
  show({ json }, edges, () => {
    if (edges.length === 0)
      return [
        'No edge has been heard yet. A machine that runs the role edge on this database appears here within seconds:',
        `${ownCommand()} start --roles edge`,
      ]
    const headings = ['EDGE', 'STATE', 'BEHIND', 'HOSTNAMES', 'CERTIFICATES', 'CONNECTIONS', 'CORES BUSY', 'VERSION', 'ADDRESS']
    return table(headings, edges.map(rowOf))
  })
}

function rowOf(edge: Edge): string[] {
  return [
    printable(edge.name),
    edge.state === 'fresh' ? styled('green', 'fresh') : styled('red', `silent since ${shownTime(edge.heartbeatAt)}`),
    edge.state === 'fresh' ? `${(edge.behindMs / 1_000).toFixed(1)} s` : '-',
    String(edge.routes),
    String(edge.certificates),
    String(edge.connections),
    edge.load.toFixed(2),
    printable(edge.version),
    printable(edge.address ?? '-'),
  ]
}

async function forget(name: string, { json }: Options): Promise<void> {
  const outcome = await withInstallation(({ db }) => forgetEdge(db, name))
  if (outcome.kind === 'unknown') throw new Error(`no edge is called ${name}. Which there are: ${ownCommand()} edges list`)
  if (outcome.kind === 'fresh') throw new Error(`${name} was heard within the last ten seconds: stop Namesake there first, then forget it`)
  show({ json }, { name, forgotten: true }, () => [`${printable(name)} is forgotten: nobody waits for it any more.`])
}
