//! Hosts that are known for what they are used for.

/// Hosts that give a machine its cloud credentials, for machines, tasks or pods: AWS, Google, Azure, Oracle,
/// DigitalOcean, OpenStack, Alibaba, Tencent, Equinix.
pub(super) const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "169.254.0.23",
    "[fd00:ec2::254]",
    "[fd00:ec2::23]",
    "[fd20:ce::254]",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "instance-data.ec2.internal",
    "metadata.platformequinix.com",
    "metadata.packet.net",
];

/// Hosts to which data is sent for somebody else to read: request catchers, tunnels, pastes, anonymous uploads.
pub(super) const DROPS: &str = "
    webhook.site requestbin.com requestbin.net requestcatcher.com requestinspector.com hookbin.com beeceptor.com
    pipedream.net postb.in ptsv2.com ptsv3.com canarytokens.com canarytokens.org dnslog.cn ceye.io dnsbin.zhack.ca
    interact.sh interactsh.com oast.fun oast.live oast.me oast.online oast.pro oast.site burpcollaborator.net
    oastify.com bxss.me xss.ht ezxss.com
    ngrok.io ngrok.app ngrok.dev ngrok-free.app ngrok-free.dev ngrok.com serveo.net localhost.run lhr.life lhr.rocks
    localtunnel.me loca.lt trycloudflare.com tunnelmole.net pagekite.me bore.pub pinggy.io pinggy.link playit.gg
    pastebin.com paste.ee hastebin.com dpaste.org dpaste.com ghostbin.com rentry.co controlc.com ix.io sprunge.us
    termbin.com privatebin.net paste.rs pastes.io justpaste.it 0bin.net klgrth.io
    transfer.sh file.io 0x0.st bashupload.com temp.sh anonfiles.com gofile.io catbox.moe litterbox.catbox.moe
    uguu.se oshi.at tmpfiles.org filebin.net keep.sh pixeldrain.com ufile.io";

/// Hosts that hide where a URL leads.
pub(super) const SHORTENERS: &str = "
    bit.ly tinyurl.com t.co goo.gl ow.ly is.gd v.gd buff.ly rebrand.ly cutt.ly shorturl.at rb.gy t.ly tiny.cc bl.ink
    soo.gd s.id shorte.st adf.ly qr.ae lnkd.in db.tt j.mp bit.do surl.li clck.ru tny.im u.to x.co urlz.fr git.io";

/// Names that resolve to whatever address is written in them, or to this machine.
pub(super) const WILDCARD_DNS: &str = "
    nip.io sslip.io xip.io localtest.me lvh.me vcap.me lacolhost.com 1u.ms rbndr.us traefik.me readme.localtest.me";

/// Gateways to content that no one host holds.
pub(super) const GATEWAYS: &str = "
    ipfs.io dweb.link cloudflare-ipfs.com gateway.pinata.cloud w3s.link nftstorage.link arweave.net onion.to onion.ws
    onion.ly tor2web.org";

/// Domains that other hosts imitate.
pub(super) const WELL_KNOWN: &str = "
    google.com googleapis.com gmail.com youtube.com facebook.com instagram.com whatsapp.com twitter.com linkedin.com
    microsoft.com microsoftonline.com live.com outlook.com office.com azure.com windows.com github.com
    githubusercontent.com gitlab.com bitbucket.org apple.com icloud.com amazon.com amazonaws.com paypal.com stripe.com
    dropbox.com netflix.com wikipedia.org cloudflare.com openai.com anthropic.com huggingface.co python.org pypi.org
    pythonhosted.org npmjs.com npmjs.org crates.io docker.com docker.io slack.com discord.com telegram.org yahoo.com
    ebay.com binance.com coinbase.com visa.com mastercard.com";

/// Of files that a machine runs.
pub(super) const EXECUTABLE: &str = "
    exe msi scr bat cmd com pif ps1 psm1 vbs vbe hta lnk jar apk dll so dylib sh bash elf deb rpm dmg pkg appimage run
    bin out";

/// Ports that web servers listen on.
pub(super) const ORDINARY_PORTS: &[u16] =
    &[80, 443, 3000, 3001, 4000, 4200, 5000, 5001, 5173, 7860, 8000, 8001, 8008, 8080, 8081, 8443, 8501, 8888, 9000];
