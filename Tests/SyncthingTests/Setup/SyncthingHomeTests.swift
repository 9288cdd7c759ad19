import Foundation
import SyncthingStatus
import SystemPackage
import Testing
import UbiquityContainers

/// Where a Syncthing keeps its configuration, and what is read of it.
struct SyncthingHomeTests {
    private static func configuration(_ gui: String, before: String = "") -> [UInt8] {
        Array("<configuration version=\"36\">\n\(before)\n\(gui)\n<options></options></configuration>".utf8)
    }

    @Test("T-48: Syncthing's directory is looked for where Syncthing looks for it, in its order")
    func order() {
        let environment = ["HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"]
        func found(_ there: String..., named: FilePath? = nil, environment: [String: String] = environment) -> String? {
            SyncthingHome.find(named: named, environment: environment) { path in there.contains(path.removingLastComponent().string) }?.path.string
        }
        let all = ["/c/syncthing", "/home/a/.config/syncthing", "/s/syncthing", "/home/a/.local/state/syncthing"]
        for (index, path) in all.enumerated() {
            let there = Set(all[index...])
            let home = SyncthingHome.find(named: nil, environment: environment) { there.contains($0.removingLastComponent().string) }
            #expect(home?.path.string == path && home?.isNamed == false)
        }
        #expect(found() == nil)
        #expect(found("/c/syncthing", named: "/x/y") == "/x/y")
        #expect(found(environment: ["STHOMEDIR": "/h", "HOME": "/home/a"]) == "/h")
        #expect(found("relative/syncthing", environment: ["XDG_CONFIG_HOME": "relative"]) == nil)
        #expect(found(environment: [:]) == nil)
    }

    @Test("T-48: an interface that listens everywhere is asked on the loopback address, and one without an address is refused with the reason")
    func addresses() throws {
        let urls = [
            "127.0.0.1:8384": "http://127.0.0.1:8384", "0.0.0.0:8384": "http://127.0.0.1:8384", ":8384": "http://127.0.0.1:8384",
            "[::]:8384": "http://[::1]:8384", "[::1]:8385": "http://[::1]:8385", "localhost:1": "http://localhost:1",
            " 127.0.0.1:8384 ": "http://127.0.0.1:8384", "desk.example:8384": "http://desk.example:8384",
        ]
        for (address, url) in urls {
            let interface = try SyncthingInterface(
                configuration: Self.configuration(
                    "<gui enabled='true' tls=\"false\"><address>\(address)</address><apikey>k&amp;&#x31;&#50;</apikey></gui>"))
            #expect(try interface.url == url && interface.key == "k&12", "\(address)")
        }
        let secure = try SyncthingInterface(configuration: Self.configuration("<gui tls=\"true\"><address>0.0.0.0:1</address></gui>"))
        #expect(try secure.url == "https://127.0.0.1:1")
        let refused = [
            ("<gui enabled=\"false\"><address>127.0.0.1:8384</address></gui>", "switches the web interface off"),
            ("<gui><address>/run/syncthing.sock</address></gui>", "Unix socket"), ("<gui><address>unix:///x</address></gui>", "Unix socket"),
            ("<gui><address>127.0.0.1</address></gui>", "no port"), ("<gui><address>127.0.0.1:0</address></gui>", "no port"),
            ("<gui><address>127.0.0.1:99999</address></gui>", "no port"), ("<gui/>", "no port"), ("", "no port"),
        ]
        for (gui, words) in refused {
            let interface = try SyncthingInterface(configuration: Self.configuration(gui))
            #expect(throws: SetupError.self, "\(gui)") { try interface.url }
            do { _ = try interface.url } catch { #expect(error.description.contains(words), "\(gui): \(error)") }
        }
    }

    @Test("T-48: what Syncthing has written is found among all else, and a damaged file, another one, or a document type is refused")
    func documents() throws {
        let other = "<!-- <gui><address>1.2.3.4:1</address></gui> --><folder id=\"x\"><gui><address>5.6.7.8:1</address></gui></folder>"
        let interface = try SyncthingInterface(
            configuration: Array("<?xml version=\"1.0\"?>".utf8)
                + Self.configuration(
                    "<gui enabled=\"true\"><address>127.0.0.1:2</address><apikey>key</apikey><theme>a &lt;b&gt;</theme></gui>", before: other))
        #expect(interface.address == "127.0.0.1:2" && interface.key == "key")
        let bad: [String] = [
            "", "hello", "<html><gui></gui></html>", "<configuration>", "<configuration><gui></configuration>", "<configuration><gui a></gui>",
            "<configuration><gui a='></gui></configuration>", "<configuration>&unknown;</configuration>", "<configuration>&#x110000;</configuration>",
            "<configuration><!-- </configuration>", "<", "</", "<configuration", "<configuration/", "</configuration>",
            "<configuration>&amp</configuration>",
            "<!DOCTYPE c [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><configuration>&b;</configuration>",
            String(repeating: "<configuration>", count: 100_000), "<configuration>\u{0}<",
        ]
        for text in bad { #expect(throws: SetupError.self, "\(text.prefix(60))") { try SyncthingInterface(configuration: Array(text.utf8)) } }
        #expect(throws: SetupError.self) {
            try SyncthingInterface(configuration: Array("<configuration>".utf8) + [0xFF, 0xFE] + Array("</configuration>".utf8))
        }
    }

    @Test("T-48: every prefix of a configuration, and 20,000 random changes of it, are read or refused, and never crash")
    func mutations() {
        let text = Self.configuration("<gui enabled=\"true\" tls=\"false\"><address>127.0.0.1:8384</address><apikey>a&lt;b</apikey></gui>")
        for length in 0..<text.count { #expect(throws: SetupError.self) { try SyncthingInterface(configuration: Array(text.prefix(length))) } }
        let bytes = Array("<>/&;\"'=!-? a\u{0}x#é".utf8)
        for _ in 0..<20_000 {
            var changed = text
            for _ in 0..<Int.random(in: 1...4) { changed[Int.random(in: changed.indices)] = bytes.randomElement()! }
            if let interface = try? SyncthingInterface(configuration: changed) { _ = try? interface.url }
        }
    }

    @Test("T-48: a configuration that is missing, unreadable or too large says so, with the certificate where the interface has one")
    func files() throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let home = SyncthingHome(directory, isNamed: true)
        #expect(try home.interface() == nil)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let file = URL(filePath: home.configuration.string)
        try Data(Self.configuration("<gui tls=\"true\"><address>127.0.0.1:1</address><apikey>key</apikey></gui>")).write(to: file)
        #expect(
            try home.interface()
                == SyncthingConfiguration(address: "https://127.0.0.1:1", key: "key", certificate: directory.appending("https-cert.pem").string))
        try Data(Self.configuration("<gui><address>127.0.0.1:1</address></gui>")).write(to: file)
        #expect(throws: SetupError("\(home.configuration) holds no API key; make one in Syncthing (Actions, Settings, General).")) {
            try home.interface()
        }
        try Data(count: 17 << 20).write(to: file)
        #expect(throws: SetupError.self) { try home.interface() }
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        #expect(throws: SetupError.self) { try home.interface() }
    }

    @Test("a version before 1.19 is too old, and one that is unknown is not")
    func versions() {
        for old in ["v1.18.6", "v0.14.52", "v1.3.0-rc.1"] { #expect(SyncthingVersion(old).isTooOld, "\(old)") }
        for new in ["v1.19.2-ds1", "v1.27.0", "v2.0.1", "unknown-dev", ""] { #expect(!SyncthingVersion(new).isTooOld, "\(new)") }
    }
}
