"""The folder that the programs work in: their settings, keys, and files to send."""

from __future__ import annotations

from pathlib import Path

from hosts import do

__all__ = ["configure", "prepare"]

BIG, SMALL, PIECE = 1_000_000_000, 40_000_000, 200_000
NGINX = """daemon off; master_process off; pid {place}/nginx.pid; error_log {place}/nginx.log;
events {{ worker_connections 64; }}
http {{
  access_log off; sendfile on; default_type application/octet-stream; root {place};
  ssl_certificate {place}/tls.crt; ssl_certificate_key {place}/tls.key;
  client_body_temp_path {place}/1; proxy_temp_path {place}/2; fastcgi_temp_path {place}/3;
  uwsgi_temp_path {place}/4; scgi_temp_path {place}/5;
  server {{ listen 80; }}
  server {{ listen 443 ssl http2; }}
  server {{ listen 8000; sendfile off; output_buffers 2 32k; }}
  server {{ listen 8001; limit_rate 1200k; }}
  server {{ listen 8080 sndbuf={buffer}; }}
}}
"""
SSHD = """Port 22
HostKey {place}/key
AuthorizedKeysFile {place}/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
"""
SSH = """Host *
User root
IdentityFile {place}/key
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""


def prepare(place: Path) -> None:
    """Make the files (sparse, as only the page cache reads them) and the keys."""
    for name, size in (("big.bin", BIG), ("small.bin", SMALL), ("piece.bin", PIECE)):
        with (place / name).open("wb") as file:
            file.truncate(size)
    do("ssh-keygen", "-qt", "ed25519", "-N", "", "-f", place / "key")
    names = ("-keyout", place / "tls.key", "-out", place / "tls.crt")
    do("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=lab", *names)
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants one, empty


def configure(place: Path, values: dict[str, object]) -> None:
    """Write the settings of a scenario."""
    buffer = values.get("buffer", 65536)
    for name, text in (("nginx.conf", NGINX), ("sshd.conf", SSHD), ("ssh.conf", SSH)):
        (place / name).write_text(text.format(place=place, buffer=buffer))
