# why: ISO-02: files that every host has are read; only the guest's own passwd and hosts may be there.
# kind: host-read
# status: ok
# stdout-has: all tried
# stdout-not: BREACH
# after: kept

import os

forbidden = """
/etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_ed25519_key /etc/ssh/ssh_host_rsa_key /etc/machine-id
/etc/fstab /etc/crontab /etc/kubernetes/admin.conf /etc/docker/daemon.json /root/.ssh/id_rsa /root/.ssh/id_ed25519
/root/.bash_history /root/.aws/credentials /root/.docker/config.json /root/.kube/config /root/.netrc /root/.env
/home /root /srv /mnt /media /boot /var/log /var/lib /var/run/docker.sock /run/docker.sock /run/containerd
/run/secrets /var/run/secrets/kubernetes.io /run/systemd /run/user /run/dbus /.dockerenv /host /dev/mem /dev/kmem
/dev/sda /dev/vda /dev/nvme0n1 /dev/kvm /dev/fuse /dev/mapper /dev/loop0 /dev/vsock /dev/kmsg /dev/port
""".split()
for path in forbidden:
    try:
        if os.path.isdir(path):
            found = os.listdir(path)
        else:
            with open(path, "rb") as f:
                found = f.read(100)
    except OSError as e:
        print(path, e.strerror)
        continue
    print("breach".upper() if found else "empty", path, found)
for path in ("/etc/passwd", "/etc/hosts", "/etc/resolv.conf", "/etc/hostname"):
    try:
        print(path, open(path).read())
    except OSError as e:
        print(path, e.strerror)
print("all tried")
