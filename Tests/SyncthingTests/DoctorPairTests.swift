import Foundation
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

extension Member {
    struct Diagnosis: Decodable {
        var isSound: Bool
        var findings: [Finding]

        /// What is said of Syncthing, but for remarks.
        var syncthing: [Finding] { findings.filter { $0.area == .syncthing && $0.severity != .remark } }
    }

    /// Says in the device home where Syncthing answers.
    func configure(address: String? = nil, key: String? = nil, certificate: String? = nil) throws {
        var syncthing = ["address": address ?? device.address, "key": key ?? device.key]
        syncthing["certificate"] = certificate
        let file = home.appending("config.json").string
        try JSONSerialization.data(withJSONObject: ["format": 1, "syncthing": syncthing]).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }

    func examine() async throws -> Diagnosis {
        let outcome = try await Tool.run("ubcontrol", ["doctor", "--json", "--home", home.string])
        let diagnosis = try JSONDecoder().decode(Diagnosis.self, from: Data(outcome.output.utf8))
        #expect(outcome.status == (diagnosis.isSound ? 0 : 1) && !outcome.output.contains(device.key), "\(outcome)")
        return diagnosis
    }
}

extension PairTests {
    @Test("F-29: the doctor asks Syncthing, and names what keeps a folder from carrying the containers, and nothing where it does")
    func doctor() async throws {
        let a = try await pair.members().a
        try await a.add("Milk")
        try a.configure()
        let well = try await a.examine()
        #expect(well.isSound && well.syncthing.isEmpty && !well.findings.contains { $0.what.contains("not asked") }, "\(well)")

        let folder = "config/folders/ubiquity"
        let cases: [(set: String, unset: String, severity: Finding.Severity, words: String)] = [
            (#"{"type": "receiveonly"}"#, #"{"type": "sendreceive"}"#, .fault, "nothing leaves this device"),
            (#"{"type": "sendonly"}"#, #"{"type": "sendreceive"}"#, .fault, "no changes of other devices arrive here"),
            (#"{"maxConflicts": 0}"#, #"{"maxConflicts": -1}"#, .warning, "keeps no copy of a version that loses a conflict"),
            (#"{"fsWatcherEnabled": false}"#, #"{"fsWatcherEnabled": true}"#, .warning, "not watched for changes"),
            (#"{"paused": true}"#, #"{"paused": false}"#, .fault, "is paused"),
        ]
        for (set, unset, severity, words) in cases {
            try await a.device.patch(folder, set)
            let found = try await a.examine().syncthing
            try await a.device.patch(folder, unset)
            #expect(found.count == 1 && found.first?.severity == severity && found.first?.what.contains(words) == true, "\(set): \(found)")
        }
        try await pair.pause(true)
        let apart = try await a.examine().syncthing
        try await pair.pause(false)
        // Paused for a moment only: the configuration tells.
        #expect(apart.map(\.what) == ["all devices that share folder ubiquity are paused: b"], "\(apart)")

        // A pattern that hides what stores rest on, and one that hides an item.
        let ignores = a.device.folder.appending(".stignore")
        let before = try String(contentsOfFile: ignores.string, encoding: .utf8)
        try a.write("old", to: "Documents/Letter.bak")
        try Data((before + "*.bak\n(?i)*.UBLOG\n").utf8).write(to: URL(filePath: ignores.string))
        try await a.device.post("db/scan?folder=ubiquity")
        let hidden = try await a.examine().syncthing
        #expect(hidden.map(\.severity) == [.fault, .warning], "\(hidden)")
        #expect(hidden.first?.path?.hasSuffix(".ublog") == true && hidden.last?.path == a.container.appending("Documents/Letter.bak").string)
        try Data("*.bak\n".utf8).write(to: URL(filePath: ignores.string))
        #expect(try await a.examine().findings.contains { $0.area == .root && $0.severity == .fault && $0.what.contains("*.nosync is missing") })
        try Data(before.utf8).write(to: URL(filePath: ignores.string))
        try await until("all is well again", limit: patience) { try await a.examine().findings.allSatisfy { $0.severity == .remark } }
    }

    @Test("F-29: the doctor tells a Syncthing that does not answer from a wrong key, and from one that keeps no such folder")
    func doctorMisconfigured() async throws {
        let a = try await pair.members().a
        try await a.add("Milk")
        try a.configure(key: "wrong")
        #expect(try await a.examine().syncthing.map(\.what) == ["Syncthing at \(a.device.address) does not accept the API key"])
        try a.configure(address: "http://127.0.0.1:1")
        let away = try await a.examine().syncthing
        #expect(away.count == 1 && away.first?.what.hasPrefix("Syncthing does not answer at http://127.0.0.1:1") == true, "\(away)")
        try a.configure()
        let elsewhere = pair.directory.appending("elsewhere")
        try FileManager.default.createDirectory(atPath: elsewhere.string, withIntermediateDirectories: true)
        try await a.tool("ubcontrol", "sign-in", "other", "--containers", elsewhere.string)
        // Of an account that has no container yet it is the root that counts.
        let empty = try await a.examine().syncthing
        #expect(empty.map(\.path) == [elsewhere.string] && empty.first?.what.hasPrefix("is in no folder") == true, "\(empty)")
    }

    @Test("ubcontrol container status asks the Syncthing of config.json, and with --follow tells an item's way")
    func containerStatus() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        try await a.add("Milk")
        try a.configure()
        try a.write("text", to: "Documents/Letter.txt")
        let letter = a.container.appending("Documents/Letter.txt").string
        let following = try await RunningTool("ubcontrol", ["container", "status", "--follow", letter, "--home", a.home.string])
        let lines = following.lines.limited("a line", limit: patience).makeAsyncIterator()
        var statuses: [String] = []
        while let line = try await lines.next() {
            statuses.append(String(line.prefix { $0 != " " }))
            if statuses.last == "current" { break }
        }
        #expect(statuses.last == "current" && b.read("Documents/Letter.txt") == "text", "\(statuses)")
        try FileManager.default.removeItem(atPath: letter)
        try await a.device.post("db/scan?folder=ubiquity")
        #expect(try await lines.next()?.hasPrefix("unknown ") == true)
        _ = try await following.stop()
        try a.write("more", to: "Documents/More.txt")
        let watching = try await RunningTool("ubwatch", ["items", a.container.string, "--follow", "--json", "--home", a.home.string])
        let items = watching.lines.limited("a line", limit: patience).makeAsyncIterator()
        while let line = try await items.next() {
            let item = try JSONDecoder().decode(ItemListing.Line.self, from: Data(line.utf8))
            if item.path.hasSuffix("/Documents/More.txt"), item.status == .current { break }
        }
        _ = try await watching.stop()
        #expect(b.read("Documents/More.txt") == "more")
        let once = try await a.tool("ubcontrol", "container", "status")
        #expect(once.errors.isEmpty && once.output.hasSuffix("  \(a.container)\n"), "\(once)")
    }
}

/// With HTTPS.
@Suite(.asking, .timeLimit(.minutes(40)))
struct CertificateTests {
    @Test("over HTTPS exactly the certificate that is named is trusted, no other of Syncthing's, and none by itself")
    func pinned() async throws {
        try await SyncthingPair.with(["--tls"]) { pair in
            let both = try await pair.members()
            let (a, b) = (both.a, both.b)
            #expect(a.device.address.hasPrefix("https://"))
            try await a.add("Milk")
            let own = a.device.home.appending("https-cert.pem")
            try await a.check(own)
            for (certificate, words) in [(b.device.home.appending("https-cert.pem"), "another certificate"), (nil, "No authority")] {
                await #expect {
                    try await a.check(certificate)
                } throws: {
                    ($0 as? SyncthingError)?.code == .untrusted && "\($0)".contains(words) && "\($0)".contains(a.device.address)
                }
                // The same again, over what the pool has kept.
                await #expect(throws: SyncthingError.self) { try await a.check(certificate) }
            }
            try await a.check(own)
            // Both at once, each with its own.
            try await b.check(b.device.home.appending("https-cert.pem"))

            // The tools, with a path beside config.json.
            try FileManager.default.copyItem(atPath: own.string, toPath: a.home.appending("syncthing.pem").string)
            try a.configure(certificate: "syncthing.pem")
            #expect(try await a.examine().syncthing.isEmpty)
            try await until("the container is current", limit: patience) {
                try await a.tool("ubcontrol", "container", "status").output.hasPrefix("current ")
            }
            try a.configure(certificate: b.device.home.appending("https-cert.pem").string)
            #expect(try await a.examine().syncthing.first?.what.contains("shows another certificate") == true)
            let refused = try await Tool.run("ubcontrol", ["container", "status", "--home", a.home.string])
            #expect(refused.status == 1 && refused.errors.contains("shows another certificate"), "\(refused)")
            try a.configure(address: a.device.address.replacing("https:", with: "http:"))
            #expect(try await a.examine().syncthing.first?.what.contains("redirects to another address") == true)
        }
    }

    @Test("a certificate that is no file, no certificate or several, and one for an address without HTTPS, are refused with the file")
    func refused() throws {
        let bundle: FilePath = "/etc/ssl/certs/ca-certificates.crt"
        for (certificate, address, code) in [
            ("/nowhere/cert.pem", "https://h", SyncthingError.Code.unusableCertificate), ("/etc/passwd", "https://h", .unusableCertificate),
            (bundle, "https://h", .unusableCertificate), ("/nowhere/cert.pem", "http://h", .invalidAddress),
        ] {
            #expect {
                try SyncthingEndpoint(address, key: "k", certificate: certificate)
            } throws: {
                ($0 as? SyncthingError)?.code == code && "\($0)".contains(certificate.string)
            }
        }
    }
}

extension Member {
    fileprivate func check(_ certificate: FilePath?) async throws {
        try await SyncthingTransport(container, endpoint: SyncthingEndpoint(device.address, key: device.key, certificate: certificate)).check()
    }
}
