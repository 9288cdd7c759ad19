import Glibc
import ObjectTransfer
import RcloneTransfer
import ServiceLifecycle
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The agent of a device home, with the lock and the socket by which it is the only one.
struct AgentService: Service {
    let agent: TransferAgent
    private let lock: FileLock
    private let server: TransferServer

    /// Takes the home's lock, and listens.
    ///
    /// - Parameter home: the device home.
    /// - Throws: `Refusal`, if another agent serves the home, or the home is unusable.
    init(_ home: DeviceHome) throws {
        let place = TransferHome(home)
        do {
            try place.prepare()
            guard let free = try place.lock() else {
                throw Refusal(
                    "Another transfer agent serves \(home.path); see what it does with: ubcontrol transfer status", status: ToolExit.unavailable)
            }
            lock = free
        } catch let error as Errno {
            throw Refusal("\(place.directory) cannot be used (\(error)); check its owner and mode.", status: ToolExit.unavailable)
        }
        agent = TransferAgent(home) { cloud, account in try await openCloud(cloud, account) }
        do {
            server = try TransferServer(place.socket, agent)
        } catch {
            throw Refusal("\(place.socket) cannot be made (\(error)).", status: ToolExit.unavailable)
        }
    }

    /// Carries files until the group shuts down, or the home is gone.
    func run() async throws {
        defer { server.stop() }
        await cancelWhenGracefulShutdown { await agent.serve(holding: lock) }
    }
}
