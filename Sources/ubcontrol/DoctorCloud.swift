import Foundation
import ObjectTransfer
import RcloneTransfer
import SystemPackage
import UbiquityContainers

/// What the doctor finds about the cloud of a device.
struct CloudDiagnosis {
    let home: DeviceHome

    init(_ home: DeviceHome) { self.home = home }

    /// The longest name that an encrypted name of a remote may have (rclone.org/crypt/#name-encryption).
    private static let longestEncryptedName = 143
    /// The findings; they contact the agent, and rclone for its version.
    var findings: [Finding] {
        get async {
            guard let cloud = try? home.cloud else {
                return [
                    Finding(
                        .fault, .cloud, home.configurationFile, "the cloud shall carry the containers, but the file names none",
                        "run: ubcontrol setup cloud REMOTE:DIR")
                ]
            }
            return await remote(cloud) + (await agent(cloud))
        }
    }

    private func remote(_ cloud: CloudConfiguration) async -> [Finding] {
        guard !cloud.remote.hasPrefix("/") else { return [] }
        do {
            let program = try RcloneProgram(cloud.rclone.map { FilePath($0) }, configuration: cloud.rcloneConfig.map { FilePath($0) })
            _ = try await program.checkedVersion()
            let remote = try await RcloneRemote(cloud.remote, program)
            guard remote.type == "crypt" else {
                return [
                    Finding(
                        .remark, .cloud, nil, "\(cloud.remote) is not encrypted, so its owner can read the files",
                        "add a remote of the type crypt with: rclone config")
                ]
            }
            return names()
        } catch let error as ObjectStoreError {
            return [Finding(.fault, .cloud, nil, message: error.reason)]
        } catch {
            return [Finding(.fault, .cloud, nil, message: "\(error)")]
        }
    }

    /// Names that a remote with encrypted names cannot hold.
    private func names() -> [Finding] {
        guard let account = try? home.signedIn else { return [] }
        let root = home.root(of: account.record).appending(account.name.description)
        guard let files = FileManager.default.enumerator(atPath: root.string) else { return [] }
        var found: [Finding] = []
        for case let name as String in files where TransferPath(name, of: account.name) != nil {
            let path = FilePath(name)
            guard let long = path.components.map(\.string).first(where: { $0.utf8.count > Self.longestEncryptedName }) else { continue }
            found.append(
                Finding(
                    .warning, .cloud, root.pushing(path),
                    "the name \(long.prefix(40))… has more than \(Self.longestEncryptedName) bytes, which an encrypted remote cannot hold",
                    "use a shorter account name, or a remote that is not encrypted"))
        }
        return found
    }

    private func agent(_ cloud: CloudConfiguration) async -> [Finding] {
        let status: TransferStatus
        do {
            status = try await TransferClient(home).status()
        } catch let error as TransferClient.NoAgent {
            return [Finding(.fault, .cloud, nil, message: AgentUnit(for: home)?.failure ?? error.description)]
        } catch {
            return [Finding(.fault, .cloud, nil, message: "the transfer agent does not answer; restart it (\(error))")]
        }
        var found: [Finding] = []
        switch status.activity {
        case .blocked: found.append(Finding(.fault, .cloud, nil, message: status.reason ?? "the transfer is blocked"))
        case .waiting:
            found.append(
                Finding(
                    .warning, .cloud, nil, "the cloud does not answer: \(status.reason ?? "")", "check the network; the agent tries again by itself"))
        case .paused: found.append(Finding(.warning, .cloud, nil, "the transfer is paused", "run: ubcontrol transfer resume"))
        case .off: found.append(Finding(.fault, .cloud, nil, message: status.reason ?? "the transfer is off"))
        case .idle, .working: break
        }
        for (container, count) in status.guarded.sorted(by: { $0.key < $1.key }) {
            found.append(
                Finding(
                    .warning, .cloud, nil, "other devices have removed \(count) files of \(container), and they stay here",
                    "if that is meant, run: ubcontrol transfer allow-removals \(container)"))
        }
        for fault in status.faults {
            found.append(
                Finding(
                    .fault, .cloud, FilePath(fault.path), "it does not get on: \(fault.reason)",
                    "correct the reason; the agent tries again by itself, and at once with: ubcontrol transfer now"))
        }
        for (name, reason) in status.quarantine {
            found.append(Finding(.fault, .cloud, nil, "the bulletin \(name) cannot be read: \(reason)", "find out which program has written it"))
        }
        return found
    }
}
