import { describe, expect, it } from 'vitest'
import { containerLabel, containerOf, parseContainerOf } from '../../src/attach/jvms.ts'

const ID = '3f2a91c0bd1e4a5f6c7d8e9f00112233445566778899aabbccddeeff00112233'
const OTHER = 'ffffffffffff4a5f6c7d8e9f00112233445566778899aabbccddeeff00112233'
const POD = 'kubepods-burstable-podd9c1b2a3_0000_1111_2222_333344445555.slice'

describe('the container of a process, found by the control group of the process', () => {
  it.each([
    ['Docker with systemd', `0::/system.slice/docker-${ID}.scope`, 'docker:3f2a91c0bd1e'],
    [
      'Docker without systemd',
      `12:cpu,cpuacct:/docker/${ID}\n1:name=systemd:/docker/${ID}`,
      'docker:3f2a91c0bd1e',
    ],
    ['Podman', `0::/machine.slice/libpod-${ID}.scope/container`, 'podman:3f2a91c0bd1e'],
    [
      'Podman without root',
      `0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-${ID}.scope`,
      'podman:3f2a91c0bd1e',
    ],
    ['nerdctl', `0::/system.slice/nerdctl-${ID}.scope`, 'containerd:3f2a91c0bd1e'],
    [
      'containerd in Kubernetes',
      `0::/kubepods.slice/kubepods-burstable.slice/${POD}/cri-containerd-${ID}.scope`,
      'containerd:3f2a91c0bd1e',
    ],
    ['CRI-O', `0::/kubepods.slice/${POD}/crio-${ID}.scope`, 'crio:3f2a91c0bd1e'],
    [
      'Kubernetes without systemd',
      `0::/kubepods/burstable/podd9c1b2a3-0000/${ID}`,
      'kubernetes:3f2a91c0bd1e',
    ],
    ['an unknown container engine', `0::/system.slice/box-${ID}.scope`, 'container:3f2a91c0bd1e'],
    [
      'a node of Kubernetes in Docker',
      `0::/system.slice/docker-${OTHER}.scope/kubelet.slice/cri-containerd-${ID}.scope`,
      'containerd:3f2a91c0bd1e',
    ],
    ['LXC', '0::/lxc.payload.shop/system.slice/app.service', 'lxc:shop'],
    ['LXC with an older control group path', '4:memory:/lxc/shop\n0::/', 'lxc:shop'],
    ['systemd-nspawn', String.raw`0::/machine.slice/machine-shop\x2d2.scope/payload`, 'nspawn:shop-2'],
  ])('the container of a process is derived from its control group: %s', (_, cgroup, label) => {
    const found = parseContainerOf(`${cgroup}\n`)
    expect(found && containerLabel(found)).toBe(label)
  })

  it.each([
    ['a systemd service', '0::/system.slice/shop.service'],
    ['a login session', '0::/user.slice/user-1000.slice/session-3.scope'],
    ['the root control group', '0::/'],
    ['a path with a shorter number', '0::/builds/e218a7ba2014365ad43526b19115342c/a'],
    ['a path with a longer number', `0::/docker/${ID}0`],
    ['no control group', ''],
  ])('a process with this control group is in no container: %s', (_, cgroup) => {
    expect(parseContainerOf(cgroup)).toBeUndefined()
  })

  it('an ended process has no container', () => {
    expect(containerOf(2 ** 22 + 1)).toBeUndefined()
  })
})
