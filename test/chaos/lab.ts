import { spawnSync } from 'node:child_process'

const MARK = 'NAMESAKE_CHAOS_LAB'

/**
 * Makes this very process the first of namespaces of its own (processes, mounts, network), and runs the script in there from the start. When it
 * ends, or is killed in whatever way, the kernel ends every process in there and drops every mount and network with it. Returns at once when this
 * is done already; `shared` where it is not allowed, after saying so.
 */
export function enterLab(): 'own' | 'shared' {
  if (process.env[MARK]) return 'own'
  if (!namespacesAreAllowed()) return 'shared'
  // A shell is the first process in there: it reads the ends of orphans, which Node would not.
  // What libfaketime keeps in shared memory has a process's number for a name, and ours are those of the next run too.
  const memory = ['/run/netns', '/dev/shm'].map((folder) => `mount -t tmpfs tmpfs ${folder}`).join(' && ')
  const inside = ['sh', '-c', `${memory} && ip link set lo up && "$@"; exit $?`, 'sh']
  const env = { ...process.env, [MARK]: '1' } as Record<string, string>
  process.execve!(
    '/usr/bin/unshare',
    ['unshare', ...FLAGS, ...inside, process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    env,
  )
  return 'own'
}

/** Whether network namespaces and nftables can be used here. */
export function namespacesAreAllowed(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const trial = 'mkdir -p /run/netns && ip netns list && nft list ruleset && ip link add trial type veth peer name liart'
  return spawnSync('mkdir', ['-p', '/run/netns']).status === 0 && spawnSync('unshare', [...FLAGS, 'sh', '-c', trial]).status === 0
}

const FLAGS = ['--pid', '--fork', '--kill-child', '--mount', '--mount-proc', '--net']
