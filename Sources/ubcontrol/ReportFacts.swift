import Foundation
import StoreInspection
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// The system that runs the programs, and the versions of their file formats.
struct SystemVersions: Encodable {
    /// The value of `PRETTY_NAME` in os-release(5).
    var system: String?
    /// The kernel, from uname(2).
    var kernel: String
    var machine: String
    var formats = FormatVersions()
    var time = Date()

    init() {
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        system = release.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
            .map { $0.dropFirst("PRETTY_NAME=".count).trimmingCharacters(in: CharacterSet(charactersIn: "\"'")) }
        var names = utsname()
        uname(&names)
        func text<Field>(_ field: Field) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        kernel = "\(text(names.sysname)) \(text(names.release)) \(text(names.version))"
        machine = text(names.machine)
    }
}

/// The contents of a device home, without the key in its `config.json`.
struct HomeReport: Encodable {
    /// One container of the signed-in account.
    struct Container: Encodable {
        var identifier: String
        var path: String
        var peer: String?
        var state: String
        var isDeclared: Bool
    }

    /// An entry that was set aside.
    struct Kept: Encodable {
        var id: String
        var bytes: Int64
        /// Nil if it cannot be read.
        var entry: KeptEntry?
    }

    var home: String
    var account: String?
    var root: String?
    /// Whether the user named the root at sign-in.
    var isRootChosen: Bool?
    var containers: [Container]
    /// The address of Syncthing; nil if it is not configured.
    var syncthing: String?
    var massDeletion: MassDeletionLimit?
    var kept: [Kept]

    /// Collects the contents; the doctor's findings report files that cannot be read.
    init(of home: DeviceHome, _ diagnosis: DeviceDiagnosis, _ known: [KnownContainer]) {
        self.home = home.path.string
        account = diagnosis.home.account?.name
        root = diagnosis.root?.place.path.string
        isRootChosen = diagnosis.home.account?.isRootChosen
        containers = known.map {
            Container(
                identifier: $0.identifier.description, path: $0.path.string, peer: $0.peer?.description, state: $0.state.description,
                isDeclared: $0.isDeclared)
        }
        syncthing = (try? home.syncthing)?.address
        massDeletion = (try? home.configuration)?.massDeletion
        kept = ((try? KeptLogs(home: home).list()) ?? []).map { Kept(id: $0.id, bytes: $0.size, entry: $0.entry) }
    }
}
