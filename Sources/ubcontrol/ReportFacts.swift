import Foundation
import StoreInspection
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// What the programs run on, and which forms of files they write.
struct SystemVersions: Encodable {
    /// `PRETTY_NAME` of os-release(5).
    var system: String?
    /// As uname(2) tells.
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

/// What a device home holds, without the key that may stand in its `config.json`.
struct HomeReport: Encodable {
    /// One container of the signed-in account.
    struct Container: Encodable {
        var identifier: String
        var path: String
        var peer: String?
        var state: String
        var isDeclared: Bool
    }

    /// What was set aside.
    struct Kept: Encodable {
        var id: String
        var bytes: Int64
        /// Nil where it cannot be read.
        var entry: KeptEntry?
    }

    var home: String
    var account: String?
    var root: String?
    /// Whether the root was named at sign-in.
    var isRootChosen: Bool?
    var containers: [Container]
    /// Where Syncthing answers; nil where nobody has said so.
    var syncthing: String?
    var massDeletion: MassDeletionLimit?
    var kept: [Kept]

    /// Gathers it; what cannot be read is among the doctor's findings.
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
